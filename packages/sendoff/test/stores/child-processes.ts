import { fork } from 'node:child_process'
import { once } from 'node:events'

/** Runs a task of a script in several processes, all at the same moment, and answers what they did. */
export async function inProcesses<Result>(
  script: URL,
  count: number,
  task: string,
  place: string,
): Promise<Result[]> {
  const children = Array.from({ length: count }, (_, index) =>
    fork(script, [task, place, `process-${index}`]),
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
