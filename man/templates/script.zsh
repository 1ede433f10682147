#compdef gathercli
# zsh completion for gathercli; written by `python -m man.generate`
# Complete what follows "#" in a word, and the names of files before it: _gathercli_names KIND.
_gathercli_names() {
    local kind=$1
    shift
    if [[ $PREFIX != *'#'* ]]; then
        _files "$@"
        return
    fi
    local typed=${(Q)PREFIX}
    local start="${typed%\#*}#"
    local -a names=("${(@f)$(command gathercli __names $kind $typed 2>/dev/null)}")
    names=("${(@M)names:#"$start"*}")
    names=("${(@)names#"$start"}")
    compset -P '*[#]'
    compadd "$@" -a names
}
_gathercli_tensor() {
    compset -P @
    _gathercli_names tensor "$@"
}
_gathercli_job() {
    _gathercli_names job "$@"
}
_gathercli() {
    local -a commands=(
{{commands}}
    )
    if (( CURRENT == 2 )); then
        _describe command commands
        return
    fi
    local command=$words[2]
    shift words; (( CURRENT-- ))
    case $command in
{{arguments}}
    esac
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _gathercli "$@"
else
    compdef _gathercli gathercli
fi
