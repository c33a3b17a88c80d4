# Sourced by tools/demo, tools/test and tools/install: installs what the build needs and is missing.
# Debian 12 packages; as root, or through sudo.

packages=(
  g++ cmake ninja-build pkg-config ccache
  librocksdb-dev libflatbuffers-dev flatbuffers-compiler libboost1.81-dev libfmt-dev libsimdjson-dev
  libcli11-dev catch2 libhowardhinnant-date-dev libbenchmark-dev libssl-dev libzstd-dev libxxhash-dev
  libre2-dev libsqlite3-dev tzdata
)

# What the live tests need beside that. A Node.js from elsewhere is as good as Debian's.
test_packages=(git procps ripgrep)
command -v npm >/dev/null || test_packages+=(nodejs npm)

# Installs the packages named, or those the build needs.
install_packages() {
  local missing=() package
  for package in "${@:-${packages[@]}}"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done
  if ((${#missing[@]} == 0)); then return; fi
  if ! command -v apt-get >/dev/null; then
    echo "These packages are missing, and there is no apt-get to install them: ${missing[*]}" >&2
    exit 3
  fi
  local as_root=()
  if ((EUID != 0)); then as_root=(sudo); fi
  echo "Installing ${missing[*]}"
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}
