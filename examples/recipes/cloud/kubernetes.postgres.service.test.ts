import { deepEqual, equal, ok, rejects } from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, it } from 'node:test'
import { parseAllDocuments } from 'yaml'
import { closeDefaults } from '../../../packages/sendoff/src/dispatch/dispatcher-options.ts'
import { RecipeDatabase } from '../../../test/recipes/recipe-database.ts'
import { RunningProgram } from '../../../test/recipes/running-program.ts'
import { runCommand } from '../../../test/services/processes/run-command.ts'

const read = (file: string) => readFileSync(join(import.meta.dirname, file), 'utf8')
const [deployment, service] = objectsOf('deployment.yaml')
const [job] = objectsOf('migrate-job.yaml')
const { spec: pod } = deployment.spec.template
const [container] = pod.containers
const image = instructionsOf(read('Dockerfile'))
const command = JSON.parse(image.CMD!.join(' ')) as string[]

describe('the recipe for Docker and Kubernetes', () => {
  it('names the same image, programs, ports and labels everywhere', () => {
    deepEqual(
      [deployment, service, job].map(({ kind }) => kind as string),
      ['Deployment', 'Service', 'Job'],
    )
    equal(job.spec.template.spec.containers[0].image, container.image)
    const copied = image.COPY!.slice(0, -1)
    for (const file of copied) ok(existsSync(join(import.meta.dirname, file)), file)
    for (const [program, file] of [command, job.spec.template.spec.containers[0].command as string[]]) {
      equal(program, 'node')
      ok(copied.includes(file!), `${file} is not in the image`)
    }

    const [port] = container.ports
    deepEqual(image.EXPOSE, [String(port.containerPort)])
    ok(image.ENV!.includes(`PORT=${port.containerPort}`))
    const probes = [container.startupProbe, container.readinessProbe, container.livenessProbe]
    for (const { httpGet } of probes) equal(httpGet.port, port.name)
    equal(service.spec.ports[0].targetPort, port.name)
    deepEqual(service.spec.selector, deployment.spec.selector.matchLabels)
    deepEqual(deployment.spec.template.metadata.labels, deployment.spec.selector.matchLabels)
    deepEqual(image.USER, ['node'])
  })

  it('gives a pod more time than the outbox takes to close', () => {
    const { drainTimeoutMs, shutdownTimeoutMs } = closeDefaults
    const closeMs = drainTimeoutMs + shutdownTimeoutMs + 1_000 + drainTimeoutMs
    const preStopMs = 1_000 * container.lifecycle.preStop.sleep.seconds
    ok(1_000 * pod.terminationGracePeriodSeconds > preStopMs + closeMs)
  })

  it('waits for the job, responds to its probes, and loses nothing while a pod is replaced', async (test) => {
    const database = await RecipeDatabase.create(test)
    const options = {
      cwd: import.meta.dirname,
      env: {
        ...process.env,
        PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
        DATABASE_URL: database.url,
        PORT: '0',
      },
    }
    const run = ([program, ...args]: readonly string[]) => runCommand(program!, args, options)
    await rejects(run(command), /OUTBOX_SCHEMA_NOT_READY/)
    const migration = job.spec.template.spec.containers[0].command as string[]
    await run(migration)
    await run(migration)

    const startPod = async () => {
      const started = await RunningProgram.start(command, /open at/, options)
      test.after(() => started.kill())
      return { started, url: await started.said(/open at (\S+)\n/) }
    }
    const [old, other] = await Promise.all([startPod(), startPod()])
    for (const { httpGet } of [container.startupProbe, container.readinessProbe, container.livenessProbe]) {
      equal((await fetch(`${old.url}${httpGet.path}`)).status, 200, httpGet.path)
    }

    const place = async (url: string, order: object): Promise<number> =>
      (await fetch(`${url}/orders`, { method: 'POST', body: JSON.stringify(order) })).status
    deepEqual(
      [await place(old.url, { id: 'o-1', total: 42 }), await place(other.url, { id: 'o-2', total: 5_000 })],
      [201, 409],
    )

    const ids = Array.from({ length: 40 }, (_, index) => `late-${index}`)
    const answers = ids.map((id, index) =>
      place(index % 2 === 0 ? old.url : other.url, { id, total: 1 }).catch(() => undefined),
    )
    await Promise.any(answers)
    await old.started.end()
    const statuses = await Promise.all(answers)
    await other.started.end()

    const { orders, done, pending, shipments } = await database.readShop()
    const confirmed = ids.filter((_, index) => statuses[index] === 201)
    deepEqual(
      ['o-1', ...confirmed].filter((id) => !orders.includes(id)),
      [],
    )
    ok(!orders.includes('o-2'))
    deepEqual({ done, pending, shipments }, { done: orders, pending: [], shipments: orders })
  })
})

function objectsOf(file: string): any[] {
  return parseAllDocuments(read(file)).map((document) => {
    deepEqual(document.errors, [])
    return document.toJS() as unknown
  })
}

/** Returns the words of the instructions in a Dockerfile, by name; of several with one name the last. */
function instructionsOf(dockerfile: string): Readonly<Record<string, readonly string[]>> {
  const lines = dockerfile.split('\n').filter((line) => /^[A-Z]+ /.test(line))
  return Object.fromEntries(lines.map((line) => line.split(' ')).map(([name, ...words]) => [name, words]))
}
