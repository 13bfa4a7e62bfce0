#!/bin/sh
# Hands a hook to Loci with the plugin's own address and token. Silent and successful whatever happens.
export LOCI_URL="${CLAUDE_PLUGIN_OPTION_URL:-${CLAUDE_PLUGIN_OPTION_url:-$LOCI_URL}}"
export LOCI_TOKEN="${CLAUDE_PLUGIN_OPTION_TOKEN:-${CLAUDE_PLUGIN_OPTION_token:-$LOCI_TOKEN}}"
command -v loci-hook >/dev/null 2>&1 || exit 0
exec loci-hook claude-code "$1"
