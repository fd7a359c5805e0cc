import { deepEqual, equal, rejects } from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { oncePerRun } from './run-folder.ts'

describe('a folder of the test run', () => {
  it('is made once, and others wait until it is whole', async () => {
    const name = `made-once-${process.pid}`
    let made = 0
    let finish = (): void => {}
    const finished = new Promise<void>((resolve) => (finish = resolve))
    const make = async (folder: string): Promise<void> => {
      made += 1
      await finished
      writeFileSync(join(folder, 'whole'), 'yes')
    }
    const asked = ['one', 'two', 'three'].map(() => oncePerRun(name, make))
    finish()

    const [folder, ...others] = await Promise.all(asked)
    deepEqual(others, [folder, folder])
    equal(made, 1)
    equal(readFileSync(join(folder!, 'whole'), 'utf8'), 'yes')
  })

  it('that cannot be made fails with the same reason for all', async () => {
    const name = `not-made-${process.pid}`
    const fail = (): Promise<void> => Promise.reject(new Error('no room'))
    await rejects(oncePerRun(name, fail), /not-made-\d+ could not be made: Error: no room/)
    await rejects(
      oncePerRun(name, () => Promise.resolve()),
      /could not be made: Error: no room/,
    )
  })
})
