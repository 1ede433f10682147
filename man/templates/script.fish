# fish completion for gathercli; written by `python -m man.generate`
function __gathercli_in
    set -l words (commandline -opc)
    test "$words[2]" = "$argv[1]"
end
function __gathercli_first
    __gathercli_in $argv[1]; and test (count (commandline -opc)) -eq 2
end
function __gathercli_second
    set -l words (commandline -opc)
    __gathercli_in $argv[1]; and test (count $words) -gt 3
    and test $words[-2] = $argv[2]
end
# Complete what follows "#" in a word: __gathercli_names KIND.
function __gathercli_names
    set -l word (string replace -r -- '^--[a-z-]+=' '' (commandline -ct))
    string match -q '*#*' -- $word; or return
    command gathercli __names $argv[1] (string unescape -- $word) 2>/dev/null
end
complete -c gathercli -n __fish_use_subcommand -l version -d 'Print the version'
complete -c gathercli -s h -l help -d 'Show the options and exit'
{{commands}}
