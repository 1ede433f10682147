#compdef gathercli
# zsh completion for gathercli; written by `python -m gathercli.cli.generate`
_gathercli() {
    local -a commands=(
        'gather:Gather slices along an axis: OpenVINO 1, 7, 8; ONNX 1, 11, 13.'
        'gather-elements:Gather single elements: OpenVINO 6; ONNX 11, 13.'
        'shape:Infer the output shape from shapes alone.'
        'explain:Draw where every output cell came from.'
        'check:List illegal indices, and what every version makes of a call.'
        'compare:Put the same inputs through every version: who agrees.'
        'batch:Do thousands of jobs from a file, and report on each.'
        'convert:Convert tensors between the formats, whole folders of them.'
        'info:Describe files: type, shape, statistics, a preview.'
        'demo:Show the examples of the specifications as short lessons.'
        'ops:The operator versions: list, write out, compare, find.'
        'man:Show the manual.'
        'completion:Print the completion script of a shell.'
    )
    if (( CURRENT == 2 )); then
        _describe command commands
        return
    fi
    local command=$words[2]
    shift words; (( CURRENT-- ))
    case $command in
        gather) _arguments \
            '--data-dtype=[The type of untyped DATA (float32, bf16…)]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string)' \
            '--indices-dtype=[The type of untyped INDICES]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string)' \
            '--max-bytes=[Limit of what is held in memory or written, with K, M, G, Ki, Mi or Gi]:size: ' \
            '--axis=[The dimension of DATA to gather along]:int: ' \
            '-a[The dimension of DATA to gather along]:int: ' \
            '--batch-dims=[Leading dimensions that are batches (OpenVINO 7 and 8)]:int: ' \
            '-b[Leading dimensions that are batches (OpenVINO 7 and 8)]:int: ' \
            '--version=[The operator version, such as openvino-8, onnx-13, onnx (its newest), '\''opset 17'\'' or openvino.Gather-8]:version:(openvino-8 openvino-7 openvino-1 onnx-13 onnx-11 onnx-1)' \
            '-V[The operator version, such as openvino-8, onnx-13, onnx (its newest), '\''opset 17'\'' or openvino.Gather-8]:version:(openvino-8 openvino-7 openvino-1 onnx-13 onnx-11 onnx-1)' \
            '--negative=[A negative index]:policy:(spec wrap error)' \
            '--out-of-range=[An index outside the axis]:policy:(spec error zero clamp wrap)' \
            '--output=[Write the result here]:path:_files' \
            '-o[Write the result here]:path:_files' \
            '--chunks=[Sizes of the chunks of a .zarr output, as 64,1024]:sizes: ' \
            '--format=[auto (pretty on a terminal, json elsewhere), pretty, json, oip, npy or literal]:format:(auto pretty json oip npy literal)' \
            '-f[auto (pretty on a terminal, json elsewhere), pretty, json, oip, npy or literal]:format:(auto pretty json oip npy literal)' \
            '--force-format[Write the format that is asked for into a file whose suffix is another'\''s]' \
            '--no-clobber[Do not replace an existing file]' \
            '--fsync[Return once the file and its name are on the disk]' \
            '--nonfinite=[NaN and infinities in JSON]:way:(quoted bare null error)' \
            '--expect=[Compare the result with this tensor]:tensor:_files' \
            '--rtol=[Relative tolerance of --expect]:float: ' \
            '--atol=[Absolute tolerance of --expect]:float: ' \
            '--threads=[How many threads work on large tensors]:n: ' \
            '-j[How many threads work on large tensors]:n: ' \
            '--full[Show every element]' \
            '--precision=[Significant digits of shown floats, 1 to 17]:n: ' \
            '--color=[auto (asks NO_COLOR, FORCE_COLOR and the terminal), always or never]:when:(auto always never)' \
            '--quiet[Print no notes]' \
            '-q[Print no notes]' \
            '--json-errors[Print a refusal as one line of JSON]' \
            '--debug[Show the traceback of a failure]' \
            '--scheduler=[Let the workers of this dask scheduler do it, as tcp://host:8786]:url: ' \
            '--scheduler-file=[The file that the scheduler writes, in place of its URL]:file:_files' \
            '--tls-ca-file=[Speak TLS with the scheduler]:file:_files' \
            '--tls-cert=[The certificate to show the scheduler]:file:_files' \
            '--tls-key=[The key of the certificate]:file:_files' \
            '1:DATA:_files' \
            '2:INDICES:_files' \
            '(-h --help)'{-h,--help}'[Show the options and exit.]' ;;
        gather-elements) _arguments \
            '--data-dtype=[The type of untyped DATA (float32, bf16…)]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string)' \
            '--indices-dtype=[The type of untyped INDICES]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string)' \
            '--max-bytes=[Limit of what is held in memory or written, with K, M, G, Ki, Mi or Gi]:size: ' \
            '--axis=[The dimension of DATA to gather along]:int: ' \
            '-a[The dimension of DATA to gather along]:int: ' \
            '--version=[The operator version, such as openvino-8, onnx-13, onnx (its newest), '\''opset 17'\'' or openvino.Gather-8]:version:(openvino-6 onnx-13 onnx-11)' \
            '-V[The operator version, such as openvino-8, onnx-13, onnx (its newest), '\''opset 17'\'' or openvino.Gather-8]:version:(openvino-6 onnx-13 onnx-11)' \
            '--negative=[A negative index]:policy:(spec wrap error)' \
            '--out-of-range=[An index outside the axis]:policy:(spec error zero clamp wrap)' \
            '--output=[Write the result here]:path:_files' \
            '-o[Write the result here]:path:_files' \
            '--chunks=[Sizes of the chunks of a .zarr output, as 64,1024]:sizes: ' \
            '--format=[auto (pretty on a terminal, json elsewhere), pretty, json, oip, npy or literal]:format:(auto pretty json oip npy literal)' \
            '-f[auto (pretty on a terminal, json elsewhere), pretty, json, oip, npy or literal]:format:(auto pretty json oip npy literal)' \
            '--force-format[Write the format that is asked for into a file whose suffix is another'\''s]' \
            '--no-clobber[Do not replace an existing file]' \
            '--fsync[Return once the file and its name are on the disk]' \
            '--nonfinite=[NaN and infinities in JSON]:way:(quoted bare null error)' \
            '--expect=[Compare the result with this tensor]:tensor:_files' \
            '--rtol=[Relative tolerance of --expect]:float: ' \
            '--atol=[Absolute tolerance of --expect]:float: ' \
            '--threads=[How many threads work on large tensors]:n: ' \
            '-j[How many threads work on large tensors]:n: ' \
            '--full[Show every element]' \
            '--precision=[Significant digits of shown floats, 1 to 17]:n: ' \
            '--color=[auto (asks NO_COLOR, FORCE_COLOR and the terminal), always or never]:when:(auto always never)' \
            '--quiet[Print no notes]' \
            '-q[Print no notes]' \
            '--json-errors[Print a refusal as one line of JSON]' \
            '--debug[Show the traceback of a failure]' \
            '--scheduler=[Let the workers of this dask scheduler do it, as tcp://host:8786]:url: ' \
            '--scheduler-file=[The file that the scheduler writes, in place of its URL]:file:_files' \
            '--tls-ca-file=[Speak TLS with the scheduler]:file:_files' \
            '--tls-cert=[The certificate to show the scheduler]:file:_files' \
            '--tls-key=[The key of the certificate]:file:_files' \
            '1:DATA:_files' \
            '2:INDICES:_files' \
            '(-h --help)'{-h,--help}'[Show the options and exit.]' ;;
        shape) _arguments \
            '--data-dtype=[The type of untyped DATA (float32, bf16…)]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string)' \
            '--indices-dtype=[The type of untyped INDICES]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string)' \
            '--max-bytes=[Limit of what is held in memory or written, with K, M, G, Ki, Mi or Gi]:size: ' \
            '--axis=[The dimension of DATA to gather along]:int: ' \
            '-a[The dimension of DATA to gather along]:int: ' \
            '--batch-dims=[Leading dimensions that are batches (OpenVINO 7 and 8)]:int: ' \
            '-b[Leading dimensions that are batches (OpenVINO 7 and 8)]:int: ' \
            '--version=[The operator version, such as openvino-8, onnx-13, onnx (its newest), '\''opset 17'\'' or openvino.Gather-8]:version:(openvino-8 openvino-7 openvino-1 onnx-13 onnx-11 onnx-1 openvino-6)' \
            '-V[The operator version, such as openvino-8, onnx-13, onnx (its newest), '\''opset 17'\'' or openvino.Gather-8]:version:(openvino-8 openvino-7 openvino-1 onnx-13 onnx-11 onnx-1 openvino-6)' \
            '--negative=[A negative index]:policy:(spec wrap error)' \
            '--out-of-range=[An index outside the axis]:policy:(spec error zero clamp wrap)' \
            '--format=[auto (pretty on a terminal, plain text elsewhere), pretty or json]:format:(auto pretty json)' \
            '-f[auto (pretty on a terminal, plain text elsewhere), pretty or json]:format:(auto pretty json)' \
            '--color=[auto (asks NO_COLOR, FORCE_COLOR and the terminal), always or never]:when:(auto always never)' \
            '--quiet[Print no notes]' \
            '-q[Print no notes]' \
            '--json-errors[Print a refusal as one line of JSON]' \
            '--debug[Show the traceback of a failure]' \
            '1:OP:(gather gather-elements)' \
            '2:DATA:_files' \
            '3:INDICES:_files' \
            '(-h --help)'{-h,--help}'[Show the options and exit.]' ;;
        explain) _arguments \
            '--job=[Explain a job of a job file, in place of OP, DATA and INDICES]:file#id: ' \
            '--data-dtype=[The type of untyped DATA (float32, bf16…)]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string)' \
            '--indices-dtype=[The type of untyped INDICES]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string)' \
            '--max-bytes=[Limit of what is held in memory or written, with K, M, G, Ki, Mi or Gi]:size: ' \
            '--axis=[The dimension of DATA to gather along]:int: ' \
            '-a[The dimension of DATA to gather along]:int: ' \
            '--batch-dims=[Leading dimensions that are batches (OpenVINO 7 and 8)]:int: ' \
            '-b[Leading dimensions that are batches (OpenVINO 7 and 8)]:int: ' \
            '--version=[The operator version, such as openvino-8, onnx-13, onnx (its newest), '\''opset 17'\'' or openvino.Gather-8]:version:(openvino-8 openvino-7 openvino-1 onnx-13 onnx-11 onnx-1 openvino-6)' \
            '-V[The operator version, such as openvino-8, onnx-13, onnx (its newest), '\''opset 17'\'' or openvino.Gather-8]:version:(openvino-8 openvino-7 openvino-1 onnx-13 onnx-11 onnx-1 openvino-6)' \
            '--negative=[A negative index]:policy:(spec wrap error)' \
            '--out-of-range=[An index outside the axis]:policy:(spec error zero clamp wrap)' \
            '--save=[Also keep the picture]:path:_files' \
            '--no-clobber[Do not replace an existing file]' \
            '--format=[auto (pretty on a terminal, plain text elsewhere), pretty or json]:format:(auto pretty json)' \
            '-f[auto (pretty on a terminal, plain text elsewhere), pretty or json]:format:(auto pretty json)' \
            '--window=[What to show of the output, a slice a dimension]:slices: ' \
            '--cell=[Trace one output cell, step by step, in words and coordinates]:i,j,...: ' \
            '--step[Walk through the output cells]' \
            '--ascii[Use no characters beyond ASCII]' \
            '--precision=[Significant digits of shown floats, 1 to 17]:n: ' \
            '--color=[auto (asks NO_COLOR, FORCE_COLOR and the terminal), always or never]:when:(auto always never)' \
            '--quiet[Print no notes]' \
            '-q[Print no notes]' \
            '--json-errors[Print a refusal as one line of JSON]' \
            '--debug[Show the traceback of a failure]' \
            '1:OP:(gather gather-elements)' \
            '2:DATA:_files' \
            '3:INDICES:_files' \
            '(-h --help)'{-h,--help}'[Show the options and exit.]' ;;
        check) _arguments \
            '--data-dtype=[The type of untyped DATA (float32, bf16…)]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string)' \
            '--indices-dtype=[The type of untyped INDICES]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string)' \
            '--max-bytes=[Limit of what is held in memory or written, with K, M, G, Ki, Mi or Gi]:size: ' \
            '--axis=[The dimension of DATA to gather along]:int: ' \
            '-a[The dimension of DATA to gather along]:int: ' \
            '--batch-dims=[Leading dimensions that are batches (OpenVINO 7 and 8)]:int: ' \
            '-b[Leading dimensions that are batches (OpenVINO 7 and 8)]:int: ' \
            '--version=[The operator version, such as openvino-8, onnx-13, onnx (its newest), '\''opset 17'\'' or openvino.Gather-8]:version:(openvino-8 openvino-7 openvino-1 onnx-13 onnx-11 onnx-1 openvino-6)' \
            '-V[The operator version, such as openvino-8, onnx-13, onnx (its newest), '\''opset 17'\'' or openvino.Gather-8]:version:(openvino-8 openvino-7 openvino-1 onnx-13 onnx-11 onnx-1 openvino-6)' \
            '--negative=[A negative index]:policy:(spec wrap error)' \
            '--out-of-range=[An index outside the axis]:policy:(spec error zero clamp wrap)' \
            '--all[List every illegal index]' \
            '--allow-fill[Exit 0 where indices are filled with zeros, 1 only where they are refused]' \
            '--format=[auto (pretty on a terminal, plain text elsewhere), pretty or json]:format:(auto pretty json)' \
            '-f[auto (pretty on a terminal, plain text elsewhere), pretty or json]:format:(auto pretty json)' \
            '--threads=[How many threads work on large tensors]:n: ' \
            '-j[How many threads work on large tensors]:n: ' \
            '--color=[auto (asks NO_COLOR, FORCE_COLOR and the terminal), always or never]:when:(auto always never)' \
            '--quiet[Print no notes]' \
            '-q[Print no notes]' \
            '--json-errors[Print a refusal as one line of JSON]' \
            '--debug[Show the traceback of a failure]' \
            '1:OP:(gather gather-elements)' \
            '2:DATA:_files' \
            '3:INDICES:_files' \
            '(-h --help)'{-h,--help}'[Show the options and exit.]' ;;
        compare) _arguments \
            '--data-dtype=[The type of untyped DATA (float32, bf16…)]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string)' \
            '--indices-dtype=[The type of untyped INDICES]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string)' \
            '--max-bytes=[Limit of what is held in memory or written, with K, M, G, Ki, Mi or Gi]:size: ' \
            '--axis=[The dimension of DATA to gather along]:int: ' \
            '-a[The dimension of DATA to gather along]:int: ' \
            '--batch-dims=[Leading dimensions that are batches (OpenVINO 7 and 8)]:int: ' \
            '-b[Leading dimensions that are batches (OpenVINO 7 and 8)]:int: ' \
            '--ops=[Only these, with commas between]:list:(gather gather-elements openvino.Gather-8 openvino.Gather-7 openvino.Gather-1 onnx.Gather-13 onnx.Gather-11 onnx.Gather-1 openvino.GatherElements-6 onnx.GatherElements-13 onnx.GatherElements-11)' \
            '--negative=[A negative index]:policy:(spec wrap error)' \
            '--out-of-range=[An index outside the axis]:policy:(spec error zero clamp wrap)' \
            '--format=[auto (pretty on a terminal, plain text elsewhere), pretty or json]:format:(auto pretty json)' \
            '-f[auto (pretty on a terminal, plain text elsewhere), pretty or json]:format:(auto pretty json)' \
            '--threads=[How many threads work on large tensors]:n: ' \
            '-j[How many threads work on large tensors]:n: ' \
            '--color=[auto (asks NO_COLOR, FORCE_COLOR and the terminal), always or never]:when:(auto always never)' \
            '--quiet[Print no notes]' \
            '-q[Print no notes]' \
            '--json-errors[Print a refusal as one line of JSON]' \
            '--debug[Show the traceback of a failure]' \
            '1:DATA:_files' \
            '2:INDICES:_files' \
            '(-h --help)'{-h,--help}'[Show the options and exit.]' ;;
        batch) _arguments \
            '--data-dtype=[The type of untyped DATA (float32, bf16…)]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string)' \
            '--indices-dtype=[The type of untyped INDICES]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string)' \
            '--max-bytes=[Limit of what is held in memory or written, with K, M, G, Ki, Mi or Gi]:size: ' \
            '--op=[The operator, gather or gather-elements, of jobs that are made of --data and what is below]:op:(gather gather-elements)' \
            '--data=[The files that are the data, as '\''in/*.npy'\'' or '\''in/**/*.npy'\'']:pattern:_files' \
            '--indices=[The indices of each]:pattern:_files' \
            '--output=[The files to write, as '\''out/{stem}.npy'\'']:pattern:_files' \
            '-o[The files to write, as '\''out/{stem}.npy'\'']:pattern:_files' \
            '--matrix=[Try every combination, as --matrix axis=0,1 version=openvino-8,onnx-13]:key=a,b...: ' \
            '--expect=[What the results should equal, as '\''want/{stem}.npy'\'']:pattern:_files' \
            '--axis=[The dimension of DATA to gather along]:int: ' \
            '-a[The dimension of DATA to gather along]:int: ' \
            '--batch-dims=[Leading dimensions that are batches (OpenVINO 7 and 8)]:int: ' \
            '-b[Leading dimensions that are batches (OpenVINO 7 and 8)]:int: ' \
            '--version=[The operator version, such as openvino-8, onnx-13, onnx (its newest), '\''opset 17'\'' or openvino.Gather-8]:version:(openvino-8 openvino-7 openvino-1 onnx-13 onnx-11 onnx-1 openvino-6)' \
            '-V[The operator version, such as openvino-8, onnx-13, onnx (its newest), '\''opset 17'\'' or openvino.Gather-8]:version:(openvino-8 openvino-7 openvino-1 onnx-13 onnx-11 onnx-1 openvino-6)' \
            '--negative=[A negative index]:policy:(spec wrap error)' \
            '--out-of-range=[An index outside the axis]:policy:(spec error zero clamp wrap)' \
            '--dry-run[Validate all jobs and infer their shapes from headers]' \
            '--allow-outside[Let jobs of a file write outside its folder]' \
            '--workers=[How many processes do jobs]:n: ' \
            '-j[How many processes do jobs]:n: ' \
            '--fail-fast[Begin no job after one has failed]' \
            '--max-failures=[Begin no job after more than N, or P percent of all, have failed]:n|p%: ' \
            '--retries=[Do a job up to N times again after a fault of reading or writing]:n: ' \
            '--timeout=[Seconds a job may take]:s: ' \
            '--rtol=[Relative tolerance of --expect]:float: ' \
            '--atol=[Absolute tolerance of --expect]:float: ' \
            '--format=[auto (pretty on a terminal, plain text elsewhere), pretty or json]:format:(auto pretty json)' \
            '-f[auto (pretty on a terminal, plain text elsewhere), pretty or json]:format:(auto pretty json)' \
            '--report=[Write the lines of report here as jobs end, not to stdout]:file:_files' \
            '--resume[Do what the report does not have yet, or what has changed since]' \
            '--resume-failed[Resume, and also do what has failed]' \
            '--hash[Note the content of files in the report and compare it, not their times]' \
            '--junit=[Also write the report as JUnit XML]:file:_files' \
            '--color=[auto (asks NO_COLOR, FORCE_COLOR and the terminal), always or never]:when:(auto always never)' \
            '--quiet[Print no notes]' \
            '-q[Print no notes]' \
            '--json-errors[Print a refusal as one line of JSON]' \
            '--debug[Show the traceback of a failure]' \
            '--scheduler=[Let the workers of this dask scheduler do it, as tcp://host:8786]:url: ' \
            '--scheduler-file=[The file that the scheduler writes, in place of its URL]:file:_files' \
            '--tls-ca-file=[Speak TLS with the scheduler]:file:_files' \
            '--tls-cert=[The certificate to show the scheduler]:file:_files' \
            '--tls-key=[The key of the certificate]:file:_files' \
            '*:JOBS...:_files' \
            '(-h --help)'{-h,--help}'[Show the options and exit.]' ;;
        convert) _arguments \
            '--data-dtype=[The type of what names none]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string)' \
            '--max-bytes=[Limit of what is held in memory or written, with K, M, G, Ki, Mi or Gi]:size: ' \
            '--to=[npy, npz, json, oip, literal, safetensors, pb (ONNX), bin (raw bytes) or zarr]:format:(npy npz json oip literal safetensors pb bin zarr)' \
            '--force-format[Write the format that is asked for into a file whose suffix is another'\''s]' \
            '--directory=[Write a file for every source into this folder, which is made if it is not there]:dir:_files' \
            '-d[Write a file for every source into this folder, which is made if it is not there]:dir:_files' \
            '--dtype=[Convert the elements, if none of them changes]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string)' \
            '--lossy[Let --dtype round to the nearest, half to even]' \
            '--truncate[As --lossy, but make integers of floats towards zero]' \
            '--chunks=[Sizes of the chunks of a .zarr output, as 64,1024]:sizes: ' \
            '--no-clobber[Do not replace an existing file]' \
            '--fsync[Return once the file and its name are on the disk]' \
            '--nonfinite=[NaN and infinities in JSON]:way:(quoted bare null error)' \
            '--color=[auto (asks NO_COLOR, FORCE_COLOR and the terminal), always or never]:when:(auto always never)' \
            '--quiet[Print no notes]' \
            '-q[Print no notes]' \
            '--json-errors[Print a refusal as one line of JSON]' \
            '--debug[Show the traceback of a failure]' \
            '*:SRC... DEST:_files' \
            '(-h --help)'{-h,--help}'[Show the options and exit.]' ;;
        info) _arguments \
            '--header[Read no elements]' \
            '--data-dtype=[The type of what names none]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string)' \
            '--max-bytes=[Limit of what is held in memory or written, with K, M, G, Ki, Mi or Gi]:size: ' \
            '--format=[auto (pretty on a terminal, plain text elsewhere), pretty or json]:format:(auto pretty json)' \
            '-f[auto (pretty on a terminal, plain text elsewhere), pretty or json]:format:(auto pretty json)' \
            '--precision=[Significant digits of shown floats, 1 to 17]:n: ' \
            '--color=[auto (asks NO_COLOR, FORCE_COLOR and the terminal), always or never]:when:(auto always never)' \
            '--quiet[Print no notes]' \
            '-q[Print no notes]' \
            '--json-errors[Print a refusal as one line of JSON]' \
            '--debug[Show the traceback of a failure]' \
            '*:FILE...:_files' \
            '(-h --help)'{-h,--help}'[Show the options and exit.]' ;;
        demo) _arguments \
            '--list[List the lessons]' \
            '--all[Show every lesson]' \
            '--color=[auto (asks NO_COLOR, FORCE_COLOR and the terminal), always or never]:when:(auto always never)' \
            '--json-errors[Print a refusal as one line of JSON]' \
            '--debug[Show the traceback of a failure]' \
            '1:NAME:_files' \
            '(-h --help)'{-h,--help}'[Show the options and exit.]' ;;
        ops) _arguments \
            '--format=[auto (pretty on a terminal, plain text elsewhere), pretty or json]:format:(auto pretty json)' \
            '-f[auto (pretty on a terminal, plain text elsewhere), pretty or json]:format:(auto pretty json)' \
            '--diff=[What two versions do differently, and what that means for a model that moves]:a b:(openvino.Gather-8 openvino.Gather-7 openvino.Gather-1 onnx.Gather-13 onnx.Gather-11 onnx.Gather-1 openvino.GatherElements-6 onnx.GatherElements-13 onnx.GatherElements-11):a b:(openvino.Gather-8 openvino.Gather-7 openvino.Gather-1 onnx.Gather-13 onnx.Gather-11 onnx.Gather-1 openvino.GatherElements-6 onnx.GatherElements-13 onnx.GatherElements-11)' \
            '--like=[The versions that another framework'\''s call equals, such as torch.gather, np.take]:call:(numpy.take numpy.take_along_axis torch.gather torch.take_along_dim torch.index_select torch.embedding jax.numpy.take jax.numpy.take_along_axis tensorflow.gather)' \
            '--decisions[Where the specifications are silent or contradict themselves, and what is done]' \
            '--color=[auto (asks NO_COLOR, FORCE_COLOR and the terminal), always or never]:when:(auto always never)' \
            '--json-errors[Print a refusal as one line of JSON]' \
            '--debug[Show the traceback of a failure]' \
            '1:ID:(openvino.Gather-8 openvino.Gather-7 openvino.Gather-1 onnx.Gather-13 onnx.Gather-11 onnx.Gather-1 openvino.GatherElements-6 onnx.GatherElements-13 onnx.GatherElements-11)' \
            '(-h --help)'{-h,--help}'[Show the options and exit.]' ;;
        man) _arguments \
            '--color=[auto (asks NO_COLOR, FORCE_COLOR and the terminal), always or never]:when:(auto always never)' \
            '--json-errors[Print a refusal as one line of JSON]' \
            '--debug[Show the traceback of a failure]' \
            '1:COMMAND:(gather gather-elements shape explain check compare batch convert info demo ops man completion formats jobs operators planning)' \
            '(-h --help)'{-h,--help}'[Show the options and exit.]' ;;
        completion) _arguments \
            '1:SHELL:(bash zsh fish)' \
            '(-h --help)'{-h,--help}'[Show the options and exit.]' ;;
    esac
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _gathercli "$@"
else
    compdef _gathercli gathercli
fi
