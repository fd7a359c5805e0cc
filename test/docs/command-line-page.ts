import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeProgram } from '../../packages/cli/src/program/program.ts'

/** The page with the commands and options of the command line. */
export const commandLinePage = join(import.meta.dirname, '../../docs/command-line.md')

/** A command of the parser that the package `@sendoff/cli` has. */
type Command = ReturnType<typeof makeProgram>

/** Returns the program of the command line, which runs nothing. */
export function commandLine(): Command {
  return makeProgram({ version: '', run: async () => {}, printError: () => {} })
}

/** Returns the rows of the page's two tables: every command with its arguments, and every option with its commands. */
export function commandLineRows(): readonly string[] {
  return [...commandRows(), ...optionRows()]
}

function commandRows(): readonly string[] {
  return allCommands().map(
    ({ name, command }) => `| \`${name} ${command.usage()}\` | ${command.description()} |`,
  )
}

/** An option that means the same for several commands has one row. */
function optionRows(): readonly string[] {
  const commandsOf = new Map<string, string[]>()
  for (const { name, command } of allCommands()) {
    for (const { flags, description, defaultValue } of command.options) {
      const meaning = `${description}${defaultValue === undefined ? '' : ` (default: ${defaultValue})`}`
      const option = `\`${flags}\` | ${meaning.replaceAll('|', '\\|')}`
      commandsOf.set(option, [...(commandsOf.get(option) ?? []), `\`${name}\``])
    }
  }
  const ofAll = commandLine().options.map(
    ({ flags, description }) => `| \`${flags}\` | ${description} | all |`,
  )
  return [...ofAll, ...[...commandsOf].map(([option, names]) => `| ${option} | ${names.join(', ')} |`)]
}

interface NamedCommand {
  readonly name: string
  readonly command: Command
}

/** The commands and their commands, by full names such as `keys park`. */
function allCommands(): readonly NamedCommand[] {
  return commandLine().commands.flatMap((command) => [
    { name: command.name(), command },
    ...command.commands.map((each) => ({ name: `${command.name()} ${each.name()}`, command: each })),
  ])
}

// `node test/docs/command-line-page.ts` writes the tables again. Then format the page.
if (process.argv[1] === import.meta.filename) {
  const page = readFileSync(commandLinePage, 'utf8')
  const [before = ''] = page.split('\n## Every command\n')
  const tables = [
    ['## Every command', '', '| command | |', '| --- | --- |', ...commandRows(), ''],
    ['## Every option', '', '| option | | of |', '| --- | --- | --- |', ...optionRows()],
  ]
  writeFileSync(commandLinePage, `${before}\n${tables.flat().join('\n')}\n`)
}
