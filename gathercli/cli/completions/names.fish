# Complete what follows "#" in a word: __gathercli_names KIND.
function __gathercli_names
    set -l word (string replace -r -- '^--[a-z-]+=' '' (commandline -ct))
    string match -q '*#*' -- $word; or return
    command gathercli __names $argv[1] (string unescape -- $word) 2>/dev/null
end
