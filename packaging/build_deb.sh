#!/bin/bash
# Makes a Debian package of a program that is built: the program, systemd units, the man page and
# the completion of bash. Needs no root.
#
# Usage: packaging/build_deb.sh PROGRAM OUT-FOLDER
set -euo pipefail

program=$(realpath "$1")
out=$(realpath "$2")
here=$(dirname "$(realpath "$0")")
version=${BALLAST_DEB_VERSION:-$("$program" --version | cut -d" " -f2)}
architecture=$(dpkg --print-architecture)
package=$out/ballast_${version}_$architecture.deb
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root

install -D -m 755 "$program" "$root/usr/bin/ballast"
strip --strip-unneeded "$root/usr/bin/ballast"
# The LibTorch engine is opened only when a model asks for it, so LibTorch is no dependency.
plugin=$(dirname "$program")/../lib/ballast/libballast_torch.so
if [ -e "$plugin" ]; then
  install -D -m 644 "$plugin" "$root/usr/lib/ballast/libballast_torch.so"
fi
install -D -m 755 "$here/start-server" "$root/usr/lib/ballast/start-server"
install -d "$root/lib/systemd/system"
install -m 644 "$here/ballast-server.service" "$here/ballast-worker@.service" \
  "$root/lib/systemd/system/"
install -D -m 644 "$here/completion.bash" "$root/usr/share/bash-completion/completions/ballast"
install -d "$root/usr/share/man/man1" "$root/usr/share/doc/ballast"
sed "s/@VERSION@/$version/" "$here/ballast.1" | gzip -9n >"$root/usr/share/man/man1/ballast.1.gz"
gzip -9nc "$here/../CHANGELOG.md" >"$root/usr/share/doc/ballast/changelog.gz"
install -m 644 "$here/../LICENSE" "$root/usr/share/doc/ballast/copyright"
install -D -m 755 "$here/postinst" "$root/DEBIAN/postinst"

# dpkg-shlibdeps wants the folder of a source package.
mkdir "$work/debian"
printf 'Source: ballast\n\nPackage: ballast\nArchitecture: any\n' >"$work/debian/control"
depends=$(cd "$work" && dpkg-shlibdeps -O --ignore-missing-info root/usr/bin/ballast 2>/dev/null |
  sed -n 's/^shlibs:Depends=//p')
cat >"$root/DEBIAN/control" <<END
Package: ballast
Version: $version
Architecture: $architecture
Maintainer: The Ballast developers <ballast@localhost>
Installed-Size: $(du -sk "$root/usr" | cut -f1)
Depends: ${depends:-libc6}, adduser
Suggests: libtorch1.13
Section: science
Priority: optional
Description: training with workers that lie, break or race ahead
 A parameter server that combines the updates of workers it need not trust, by
 rules that hold as long as the dishonest share of the weight stays below one
 half; with a simulator, the workers, and the experiments of the paper.
END
dpkg-deb --root-owner-group --build "$root" "$package" >/dev/null
echo "$package"
