import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { applyPatch, patchFolder, root } from './plant-bug.ts'
import { plantedBugs } from './planted-bugs.ts'

const isFull = process.env['SENDOFF_TEST_SCALE'] === 'full'

describe('planted bugs', () => {
  it('the list names every patch of the folder, and no other', () => {
    const patches = readdirSync(join(root, patchFolder)).filter((name) => name.endsWith('.patch'))
    assert.deepEqual(plantedBugs.map(({ file }) => file).sort(), patches.sort())
  })

  for (const { file } of plantedBugs) {
    it(`${file} changes files of the engine that exist, and still applies`, () => {
      const patch = readFileSync(join(root, patchFolder, file), 'utf8')
      const changed = Array.from(patch.matchAll(/^--- a\/(.+)$/gm), ([, path]) => path!)
      assert.notEqual(changed.length, 0)
      for (const path of changed) {
        assert.ok(path.startsWith('packages/sendoff/src/'), `${path} is no part of the engine`)
        assert.ok(existsSync(join(root, path)), `there is no ${path}`)
      }
      applyPatch(file, root, '--check')
    })
  }

  it(
    'the simulation finds each of them',
    { skip: isFull ? false : 'the searches take minutes: they run with SENDOFF_TEST_SCALE=full' },
    async () => {
      const script = join(root, patchFolder, 'find-planted.ts')
      const search = spawn(process.execPath, [script], { stdio: ['ignore', 'inherit', 'inherit'] })
      const [code] = (await once(search, 'exit')) as [number | null]
      assert.equal(code, 0)
    },
  )
})
