import { equal, rejects } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { findProgram } from '../machine/find-program.ts'
import { runCommand } from './run-command.ts'

describe('a command', () => {
  it('resolves with its output', async () => {
    equal(await runCommand('sh', ['-c', 'echo done']), 'done\n')
  })

  it('rejects with its output when it fails, and when it is not there', async () => {
    await rejects(runCommand('sh', ['-c', 'echo no disk; exit 3']), /sh ended with exit code 3[^]*no disk/)
    await rejects(runCommand('/no-such-program', []), { code: 'ENOENT' })
  })

  it('is found by its name, if it is there', async () => {
    equal(await runCommand(findProgram('sh')!, ['-c', 'echo found']), 'found\n')
    equal(findProgram('no-such-program'), undefined)
  })
})
