import type { Command } from 'commander'
import { examples } from './looking-commands.ts'
import { type RunCommand, runs } from './run-command.ts'

/** Adds the commands that set an outbox up, the relay and the dashboard. */
export function addRunningCommands(program: Command, run: RunCommand): void {
  const init = program
    .command('init')
    .summary('set up an outbox in this folder')
    .description('Writes a configuration, the schema as a migration, and a first event. Overwrites nothing.')
    .option('--database <kind>', 'postgres, mysql, sqlite or redis; asks without it')
    .option('--js', 'write JavaScript instead of TypeScript')
    .option('-y, --yes', 'ask nothing: take what package.json suggests')
    .addHelpText('after', examples('init', 'init --database postgres --yes'))
  runs(init, run, async () => (await import('../commands/init.ts')).init)

  const migrate = program
    .command('migrate')
    .summary('create the tables, or bring them up to date')
    .description('Brings the schema up to date. Many processes may do so at once.')
    .option('--check', 'change nothing; exit code 4 if the schema is not up to date')
    .option('--sql', 'print the schema as SQL, without connecting')
    .option('--from <revision>', 'with --sql: only the steps after this revision')
    .addHelpText(
      'after',
      examples('migrate', 'migrate --check', 'migrate --sql --url postgres: > outbox.sql'),
    )
  runs(migrate, run, async () => (await import('../commands/migrate.ts')).migrate)

  const relay = program
    .command('relay')
    .summary('run a worker that sends events to a broker, a webhook or a mail server')
    .description('Delivers until SIGTERM or Ctrl-C, then drains. Serves /healthz, /readyz and /metrics.')
    .option('--to <address>', 'kafka://, amqp://, nats://, redis://, https:// or smtp://; or SENDOFF_TO')
    .option('--mode <mode>', 'multiNode (default), singleNode, singleWriter, partitioned or ordered')
    .option('--type <name...>', 'only these events: Order/OrderPlaced, or Ping without an aggregate type')
    .option('--workers <number>', 'how many deliveries run at once')
    .option('--host <address>', 'where to serve health and metrics (default: 127.0.0.1)')
    .option('--port <number>', 'the port of the same; 0 for any (default: 9464)')
    .addHelpText(
      'after',
      examples(
        'relay --to kafka://localhost:9092/orders',
        'relay --to https://example.com/events',
        'relay --config relay.config.ts',
      ),
    )
  runs(relay, run, async () => (await import('../commands/relay.ts')).relay)

  const dashboard = program
    .command('dashboard')
    .summary('serve the dashboard of the outbox on this machine')
    .description('Serves a web page on the loopback address, without a login, until Ctrl-C.')
    .option('--port <number>', 'the port; 0 for any (default: 9465)')
    .option('--open', 'open it in the browser')
    .option('--read-only', 'refuse all actions')
    .option('--trace-url <template>', 'the address of a trace, with {traceId}')
    .option('--host <address>', 'another address than 127.0.0.1; needs a token')
    .option('--token <secret>', 'what visitors have to know, 16 characters at least; or SENDOFF_TOKEN')
    .addHelpText('after', examples('dashboard --open', 'dashboard --read-only --port 8080'))
  runs(dashboard, run, async () => (await import('../commands/dashboard.ts')).dashboard)

  const completion = program
    .command('completion <shell>')
    .summary('print the completion for bash, zsh or fish')
    .description('Prints a script that completes commands and options in your shell.')
    .addHelpText(
      'after',
      examples('completion bash >> ~/.bashrc', 'completion fish > ~/.config/fish/completions/sendoff.fish'),
    )
  runs(completion, run, async () => {
    const { completion } = await import('../commands/completion.ts')
    return completion(program)
  })
}
