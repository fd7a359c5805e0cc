import type { Command as CommanderCommand } from 'commander'
import { usageError } from '../command-error.ts'
import { exitCodes } from '../exit-codes.ts'
import type { Command } from './command-call.ts'
import type { CommonOptions } from './command-options.ts'

/** A command with what can follow it. */
interface CompletedCommand {
  /** `replay`, or `keys retry`. */
  readonly name: string
  readonly summary: string
  readonly options: readonly string[]
  readonly commands: readonly string[]
}

/** Returns the command that prints the completion of a shell, made from the commands themselves. */
export function completion(program: CommanderCommand): Command<CommonOptions> {
  return async ({ terminal, arguments: [shell = ''] }) => {
    const scripts: Readonly<Record<string, (all: readonly CompletedCommand[]) => string>> = {
      bash,
      zsh,
      fish,
    }
    const script = Object.hasOwn(scripts, shell) ? scripts[shell] : undefined
    if (script === undefined)
      throw usageError(`There is no completion for "${shell}". Use bash, zsh or fish.`)
    terminal.print(script(commandsOf(program, '', [])))
    return exitCodes.done
  }
}

function commandsOf(
  command: CommanderCommand,
  name: string,
  inherited: readonly string[],
): readonly CompletedCommand[] {
  const options = [...inherited, ...command.options.flatMap(({ long }) => long ?? []), '--help']
  const own = {
    name,
    summary: command.summary(),
    options: [...new Set(options)],
    commands: command.commands.map((each) => each.name()),
  }
  return [
    own,
    ...command.commands.flatMap((each) => commandsOf(each, `${name} ${each.name()}`.trim(), options)),
  ]
}

function bash(all: readonly CompletedCommand[]): string {
  const cases = all.map(
    ({ name, options, commands }) => `    '${name}') words='${[...commands, ...options].join(' ')}' ;;`,
  )
  return `# Completion of sendoff for bash.
_sendoff() {
  local current="\${COMP_WORDS[COMP_CWORD]}" path='' words='' word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$word" in -*) ;; *) ${pathCase(all)} ;; esac
  done
  case "$path" in
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _sendoff sendoff`
}

// Only words that are commands are part of the path: others are values of options.
function pathCase(all: readonly CompletedCommand[]): string {
  const names = all.filter(({ name }) => name !== '').map(({ name }) => `'${name}'`)
  return `case "\${path:+$path }$word" in ${names.join('|')}) path="\${path:+$path }$word" ;; esac`
}

function zsh(all: readonly CompletedCommand[]): string {
  return `#compdef sendoff
autoload -U +X bashcompinit && bashcompinit
${bash(all)}`
}

function fish(all: readonly CompletedCommand[]): string {
  const quoted = (text: string) => `'${text.replaceAll("'", "\\'")}'`
  const [top, ...others] = all
  const lines = [
    '# Completion of sendoff for fish.',
    'complete -c sendoff -f',
    ...top!.commands.map((name) => {
      const { summary } = others.find((each) => each.name === name) ?? { summary: '' }
      return `complete -c sendoff -n __fish_use_subcommand -a ${name} -d ${quoted(summary)}`
    }),
    ...others
      .filter(({ name }) => !name.includes(' '))
      .flatMap(({ name, options, commands }) => [
        ...options.map(
          (option) => `complete -c sendoff -n '__fish_seen_subcommand_from ${name}' -l ${option.slice(2)}`,
        ),
        ...commands.map((each) => `complete -c sendoff -n '__fish_seen_subcommand_from ${name}' -a ${each}`),
      ]),
  ]
  return lines.join('\n')
}
