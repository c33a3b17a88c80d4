# Sourced by tools/test: installs the versions of the OpenCode CLI that the live tests drive, each
# below build/opencode/VERSION, with npm. What is there already is left as it is.

opencode_versions=(1.18.33 1.18.29 1.17.11)

install_opencode() {
  local version folder
  for version in "${opencode_versions[@]}"; do
    folder=build/opencode/$version
    if [[ -x $folder/node_modules/.bin/opencode ]]; then continue; fi
    echo "Installing OpenCode $version"
    mkdir -p "$folder"
    echo '{"private": true}' >"$folder/package.json"
    npm install --prefix "$folder" --no-audit --no-fund --loglevel=error "opencode-ai@$version"
  done
}
