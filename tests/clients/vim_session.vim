" termdebug drives a kernel through gpudbg.  Run by test_vim.py: vim -u NONE -N -S this file.
" Every check appends "ok NAME" or "FAIL NAME" to the file $RESULT.
set nomore nocompatible hidden
let g:termdebug_wide = 0
func Say(text)
  call writefile([a:text], $RESULT, 'a')
endfunc
" Wait for a test to hold; meanwhile carry out `again`, if given, every second.
func Wait(name, test, again = '')
  for i in range(400)
    if eval(a:test)
      call Say('ok ' . a:name)
      return
    endif
    if a:again != '' && i % 20 == 0
      exe a:again
    endif
    sleep 50m
  endfor
  call Say('FAIL ' . a:name . ' line ' . PcLine() . ' messages ' . execute('messages')[-300:])
endfunc
func PcLine()
  for buf in getbufinfo()
    for sign in get(sign_getplaced(buf.bufnr, {'group': '*'})[0], 'signs', [])
      if sign.name ==# 'debugPC'
        return sign.lnum
      endif
    endfor
  endfor
  return 0
endfunc
func Breakpoints()
  let found = []
  for buf in getbufinfo()
    for sign in get(sign_getplaced(buf.bufnr, {'group': '*'})[0], 'signs', [])
      if sign.name =~# '^debugBreakpoint'
        call add(found, sign.lnum)
      endif
    endfor
  endfor
  return found
endfunc
func AsmPc()
  let buf = bufnr('Termdebug-asm-listing')
  for sign in get(sign_getplaced(buf, {'group': '*'})[0], 'signs', [])
    if sign.name ==# 'debugPC'
      return getbufline(buf, sign.lnum)[0]
    endif
  endfor
  return ''
endfunc
func Goto(line)
  Source
  exe 'edit ' . fnameescape($KERNELS . '/' . $SESSION . '.cu')
  call cursor(a:line, 1)
endfunc
func AllText()
  let text = ''
  for buf in getbufinfo()
    let text .= join(getbufline(buf.bufnr, 1, '$'), "\n")
  endfor
  return text
endfunc

func Walk()
  exe 'Termdebug ' . fnameescape($KERNELS . '/walk.cubin')
  call Wait('started', 'exists(":Break") == 2')
  call Wait('program read', 'AllText() =~ "Reading symbols from\\|thread-group-added"')
  call Goto(25)
  Break
  call Wait('breakpoint sign', 'index(Breakpoints(), 25) >= 0')
  Run
  call Wait('stop at the breakpoint', 'PcLine() == 25')
  Over
  call Wait('over', 'PcLine() > 0 && PcLine() != 25')
  Source
  Evaluate threadIdx.x + 41
  call Wait('evaluate', 'execute("messages") =~ "41" || AllText() =~ "= 41\\|: 41"')
  call TermDebugSendCommand('print $R1')
  call Wait('console', 'AllText() =~ "\\$1 ="')
  call Goto(25)
  Clear
  call Wait('clear', 'index(Breakpoints(), 25) < 0')
  call TermDebugSendCommand('tbreak digits')
  call Wait('temporary breakpoint', 'AllText() =~ "Temporary breakpoint \\|type=\"breakpoint\",disp=\"del\""')
  Continue
  call Wait('function breakpoint', 'PcLine() == 14')
  Finish
  call Wait('finish', 'PcLine() > 20')
  Asm
  call Wait('disassembly window', 'AllText() =~ "XMAD"')
  if $MODE ==# 'term'
    " On a prompt, Vim keeps what its assembly window waits for from it.
    call Wait('pc in the assembly window', 'AsmPc() =~ "^0x[0-9a-f]* <+[0-9]*>: ISETP"')
    call TermDebugSendCommand('stepi')
    call Wait('the next pc there', 'AsmPc() =~ "^0x" && AsmPc() !~ "ISETP"')
  endif
  Source
  Continue
  call Wait('end', 'AllText() =~ "exited normally"')
  call Wait('output of the program', 'AllText() =~ "thread 1 has"')
endfunc

func Endless()
  exe 'Termdebug ' . fnameescape($KERNELS . '/endless.cubin')
  call Wait('started', 'exists(":Break") == 2')
  call Wait('program read', 'AllText() =~ "Reading symbols from\\|thread-group-added"')
  Run
  " Nothing on the screen says that it runs: one that has not begun yet takes no notice of Stop.
  call Wait('interrupt', 'index([3, 5, 6, 7], PcLine()) >= 0', 'Stop')
  let s:before = PcLine()
  Step
  call Wait('step', 'index([0, s:before], PcLine()) < 0')
  call Goto(6)
  Break
  call Wait('breakpoint sign', 'index(Breakpoints(), 6) >= 0')
  Continue
  call Wait('stop at the breakpoint', 'PcLine() == 6')
  call TermDebugSendCommand('quit')
  call Wait('quit', 'exists(":Break") != 2')
endfunc

func Begin(timer)
  try
    if $SESSION ==# 'walk'
      call Walk()
    else
      call Endless()
    endif
  catch
    call Say('FAIL ' . v:exception . ' at ' . v:throwpoint)
  endtry
  if $DUMP != ''
    call Say(AllText())
  endif
  call Say('done')
  qall!
endfunc

packadd termdebug
if $MODE ==# 'prompt'
  let g:termdebug_config = {'use_prompt': 1, 'command': $GDB}
else
  let g:termdebug_config = {'command': $GDB}
endif
call timer_start(200, 'Begin')
