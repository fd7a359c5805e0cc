import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const script = fileURLToPath(new URL('mysql-process.ts', import.meta.url))

/** Runs a task of `mysql-process.ts` in several processes, all at the same moment, and answers what they did. */
export async function inProcesses<Result>(count: number, task: string, database: string): Promise<Result[]> {
  const children = Array.from({ length: count }, (_, index) =>
    fork(script, [task, database, `process-${index}`]),
  )
  await Promise.all(children.map((child) => once(child, 'message')))

  const results = children.map(async (child) => {
    const ended = once(child, 'exit')
    const answered = once(child, 'message') as Promise<[{ result: Result }]>
    child.send('go')
    const [first] = await Promise.race([
      answered,
      ended.then(([code]) => [new Error(`It ended with ${code}.`)]),
    ])
    if (first instanceof Error) throw first
    await ended
    return first.result
  })
  return Promise.all(results)
}
