# Sourced by tools/test: installs the tokenizers that the estimate of tokens is held against, below
# build/tokenizers, with npm. What is there already is left as it is.

tokenizer_packages=(gpt-tokenizer@4.0.0 @anthropic-ai/tokenizer@0.0.4 tiktoken@1.0.22)

install_tokenizers() {
  local folder=build/tokenizers
  if [[ $(cat "$folder/installed" 2>/dev/null) == "${tokenizer_packages[*]}" ]]; then return; fi
  echo "Installing ${tokenizer_packages[*]}"
  mkdir -p "$folder"
  echo '{"private": true}' >"$folder/package.json"
  npm install --prefix "$folder" --no-audit --no-fund --loglevel=error "${tokenizer_packages[@]}"
  echo "${tokenizer_packages[*]}" >"$folder/installed"
}
