#!/usr/bin/env bash
# Installs softacl for action.yml: a version from PyPI, or a wheel.
set -euo pipefail
case "${SOFTACL_ACTION_VERSION:-}" in
  '') package=softacl ;;
  *.whl) package=$SOFTACL_ACTION_VERSION ;;
  *) package="softacl==$SOFTACL_ACTION_VERSION" ;;
esac
python3 -m pip install --quiet --disable-pip-version-check "$package"
softacl --version
