import type { Command } from 'commander'
import { addFilters } from './filter-options.ts'
import { type RunCommand, runs } from './run-command.ts'

/** Adds the commands that only look. */
export function addLookingCommands(program: Command, run: RunCommand): void {
  const status = program
    .command('status')
    .summary('show the state of the outbox')
    .description('Shows counts, lag, destinations, rates, pauses, blocked keys and processes.')
    .option('-w, --watch', 'draw it anew until Ctrl-C, with a line of bars for each number')
    .option('--interval <seconds>', 'how often to draw it with --watch (default: 2)')
    .addHelpText('after', examples('status', 'status --watch', 'status --json | jq .counts.DEAD.count'))
  runs(status, run, async () => (await import('../commands/status.ts')).status)

  const list = addFilters(
    program
      .command('list')
      .summary('list events')
      .description('Lists events, the newest first. "show" prints one of them with its payload.')
      .option('--status <states>', 'NEW, RETRY, DONE, DEAD, PENDING or BLOCKED; several with commas')
      .option('-n, --limit <number>', 'how many events', '20')
      .option('--oldest', 'the oldest first')
      .option('--cursor <cursor>', 'the page behind the one that printed this cursor'),
  ).addHelpText(
    'after',
    examples('list --status DEAD', 'list --type OrderPlaced --since 2h', 'list --key customer-17 --oldest'),
  )
  runs(list, run, async () => (await import('../commands/list.ts')).list)

  const show = program
    .command('show <event>')
    .summary('show everything about one event')
    .description('Shows an event with its payload, failed attempts, what operators did, and its neighbours.')
    .option('--destination <name>', 'the destination, if the event has several')
    .addHelpText(
      'after',
      examples('show 01M5X2V7Q8RJ3K4N5P6T7V8W9X', 'show 01M5X2V7Q8RJ3K4N5P6T7V8W9X --json'),
    )
  runs(show, run, async () => (await import('../commands/show.ts')).show)

  const tail = addFilters(
    program
      .command('tail')
      .summary('follow new events and what becomes of them')
      .description('Prints events as they are written, and every change of their state, until Ctrl-C.')
      .option('-n, --limit <number>', 'how many events that exist already to show first', '10')
      .option('--interval <seconds>', 'how often to look', '1'),
  ).addHelpText('after', examples('tail', 'tail --type OrderPlaced -n 0', 'tail --json'))
  runs(tail, run, async () => (await import('../commands/tail.ts')).tail)

  const failures = program
    .command('failures')
    .summary('group DEAD events by what went wrong')
    .description('Groups the newest 10,000 DEAD events by error, type and destination.')
    .addHelpText('after', examples('failures'))
  runs(failures, run, async () => (await import('../commands/failures.ts')).failures)

  const nodes = program
    .command('nodes')
    .summary('list the processes that use the table')
    .description('Lists living processes: mode, host, version, what they hold and listen to.')
    .addHelpText('after', examples('nodes'))
  runs(nodes, run, async () => (await import('../commands/nodes.ts')).nodes)

  const audit = program
    .command('audit [id]')
    .summary('list what operators did')
    .description('Lists what operators did, the newest first; with an id, prints this entry as JSON.')
    .option('-n, --limit <number>', 'how many entries', '20')
    .option('--cursor <cursor>', 'the page behind the one that printed this cursor')
    .addHelpText('after', examples('audit', 'audit 12'))
  runs(audit, run, async () => (await import('../commands/audit.ts')).audit)

  const doctor = program
    .command('doctor')
    .summary('find out what is wrong')
    .description('Examines the outbox and its database. Exit code 4 if something serious is wrong.')
    .option('--strict', 'exit code 4 for warnings, too')
    .addHelpText('after', examples('doctor', 'doctor --strict', 'doctor --json'))
  runs(doctor, run, async () => (await import('../commands/doctor.ts')).doctor)
}

/** Returns the examples at the end of a help text. */
export function examples(...lines: readonly string[]): string {
  return `\nExamples:\n${lines.map((line) => `  $ sendoff ${line}`).join('\n')}`
}
