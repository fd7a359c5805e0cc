import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findProgram } from '../../machine/find-program.ts'
import { stablePort } from '../../machine/stable-port.ts'
import { PrivateServer } from '../private-server.ts'

/** What a private Prometheus scrapes, and the alerts that it evaluates. */
export interface PrometheusOptions {
  /** Hosts and ports with a path `/metrics`. */
  readonly targets?: readonly string[]
  /** The text of a file of alert rules. */
  readonly rules?: string
}

/** Starts a private Prometheus that scrapes and evaluates five times a second, with its data in `folder`. */
export async function prometheusServer(
  folder: string,
  { targets = [], rules }: PrometheusOptions = {},
): Promise<PrivateServer> {
  const command = findProgram('prometheus')
  if (command === undefined) throw new Error("There is no Prometheus here. Install Debian's prometheus.")

  const port = await stablePort()
  const configuration = join(folder, 'prometheus.yml')
  if (rules !== undefined) writeFileSync(join(folder, 'rules.yml'), rules)
  writeFileSync(
    configuration,
    JSON.stringify({
      global: { scrape_interval: '200ms', evaluation_interval: '200ms', scrape_timeout: '200ms' },
      rule_files: rules === undefined ? [] : [join(folder, 'rules.yml')],
      scrape_configs: [{ job_name: 'outbox', static_configs: [{ targets }] }],
    }),
  )
  const server = new PrivateServer({
    port,
    url: `http://127.0.0.1:${port}`,
    command,
    args: [
      `--config.file=${configuration}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    readyOutput: /Server is ready to receive web requests/,
    cwd: folder,
  })
  await server.start()
  return server
}

/** The values of a query, by the labels of each. */
export async function askPrometheus(url: string, query: string): Promise<readonly PrometheusValue[]> {
  const response = await fetch(`${url}/api/v1/query?query=${encodeURIComponent(query)}`)
  const { data, error } = (await response.json()) as {
    readonly data?: {
      readonly result: readonly { metric: Record<string, string>; value: [number, string] }[]
    }
    readonly error?: string
  }
  if (data === undefined) throw new Error(`Prometheus does not understand "${query}": ${error}`)
  return data.result.map(({ metric, value: [, value] }) => ({ labels: metric, value: Number(value) }))
}

export interface PrometheusValue {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}
