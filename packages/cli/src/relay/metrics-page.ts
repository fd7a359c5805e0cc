/** A metric as an exporter of Sendoff registers it. */
interface RegisteredMetric {
  readonly name: string
  get(): Promise<{
    readonly name: string
    readonly help: string
    readonly type: string
    readonly values: readonly {
      readonly labels: Readonly<Record<string, string | number>>
      readonly value: number
      readonly metricName?: string
    }[]
  }>
}

/** Collects metrics, and prints them in the text format of Prometheus. */
export class MetricsPage {
  /** The type of the page's content. */
  readonly contentType = 'text/plain; version=0.0.4; charset=utf-8'
  readonly #metrics = new Map<string, RegisteredMetric>()

  /** Adds a metric. */
  registerMetric(metric: never): void {
    const { name } = metric as RegisteredMetric
    this.#metrics.set(name, metric)
  }

  /** Returns a metric by its name. */
  getSingleMetric(name: string): unknown {
    return this.#metrics.get(name)
  }

  /** Returns the page. */
  async text(): Promise<string> {
    const metrics = await Promise.all([...this.#metrics.values()].map((metric) => metric.get()))
    const blocks = metrics.map(({ name, help, type, values }) => {
      const samples = values.map(
        ({ labels, value, metricName = name }) => `${metricName}${labelsText(labels)} ${valueText(value)}`,
      )
      return [`# HELP ${name} ${escaped(help)}`, `# TYPE ${name} ${type}`, ...samples].join('\n')
    })
    return `${blocks.join('\n\n')}\n`
  }
}

function labelsText(labels: Readonly<Record<string, string | number>>): string {
  const parts = Object.entries(labels).map(
    ([name, value]) => `${name}="${escaped(String(value)).replaceAll('"', '\\"')}"`,
  )
  return parts.length === 0 ? '' : `{${parts.join(',')}}`
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
}

function valueText(value: number): string {
  if (Number.isNaN(value)) return 'NaN'
  return Number.isFinite(value) ? String(value) : value > 0 ? '+Inf' : '-Inf'
}
