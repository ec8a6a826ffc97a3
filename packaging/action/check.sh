#!/usr/bin/env bash
# Runs `softacl check` for action.yml. Annotations go to the log, the report to the job summary and to a SARIF file, and
# the exit code to the outputs of the step: the step after the upload decides about the job.
set -uo pipefail
read -ra options <<< "$SOFTACL_ACTION_OPTIONS"
code=0
softacl check --format github --sarif "$SOFTACL_ACTION_SARIF" ${options[@]+"${options[@]}"} -- \
  bash -c "$SOFTACL_ACTION_RUN" || code=$?
echo "exit-code=$code" >> "$GITHUB_OUTPUT"
if [ ! -s "$SOFTACL_ACTION_SARIF" ]; then
  echo "::error::softacl check ended with $code and wrote no report"
  exit "$code"
fi
