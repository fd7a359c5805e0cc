import { Worker } from 'node:worker_threads'

const longestLoadMs = 120_000

/**
 * Loads one module and its imports in a thread of its own, by `require`, which refuses modules that await at
 * their top level. Returns what the loading changed outside of the modules. The thread ends on its own only
 * if nothing is left running. `timeoutMs` begins when the module is loaded, because a busy machine may take long to
 * load it. `peers` are packages that the module imports, and whose changes are their own.
 */
export async function changesByLoading(
  file: string,
  timeoutMs = 20_000,
  peers: readonly string[] = [],
): Promise<readonly string[]> {
  const worker = new Worker(script, { eval: true, workerData: { file, peers }, stdout: true, stderr: true })
  const changes: string[] = []
  let timer = setTimeout(stop, longestLoadMs)
  worker.on('message', (told: string[]) => {
    changes.push(...told)
    clearTimeout(timer)
    timer = setTimeout(stop, timeoutMs)
  })
  worker.on('error', (error: unknown) => changes.push(`it throws ${String(error)}`))
  for (const stream of [worker.stdout, worker.stderr]) {
    stream.on('data', (chunk: Buffer) => changes.push(`it prints ${chunk.toString()}`))
  }

  await new Promise((resolve) => worker.once('exit', resolve))
  clearTimeout(timer)
  return changes

  function stop(): void {
    changes.push('it keeps its process running')
    void worker.terminate()
  }
}

const script = `
  const { parentPort, workerData: { file, peers } } = require('node:worker_threads')
  // Node itself adds global names when these are first loaded.
  Object.values(require('node:http'))
  peers.forEach(require('node:module').createRequire(file))
  const seen = {
    'global names': () => Reflect.ownKeys(globalThis),
    'built-in prototypes': () =>
      [Object, Function, Array, Promise, Error, Map, Date].flatMap((type) => Reflect.ownKeys(type.prototype)),
    'listeners of the process': () => process.eventNames().map((name) => [name, process.listenerCount(name)]),
    'environment variables': () => Object.entries(process.env).map(String),
    'open resources': () => process.getActiveResourcesInfo(),
  }
  const look = () => Object.entries(seen).map(([what, list]) => [what, list().map(String).sort().join()])
  const before = look()
  require(file)
  const after = new Map(look())
  parentPort.postMessage(before.filter(([what, list]) => after.get(what) !== list).map(([what]) => 'it changes the ' + what))
`
