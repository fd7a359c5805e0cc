import { deepEqual, equal, match } from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'
import { sendoff } from '../run-sendoff.ts'

describe('the completion', () => {
  it('completes commands, commands of commands, and options in bash', async () => {
    const { stdout: script, code } = await sendoff(['completion', 'bash'])
    equal(code, 0)
    const complete = async (...words: readonly string[]) => {
      const list = words.map((word) => `'${word}'`).join(' ')
      const code = `${script}\nCOMP_WORDS=(${list}); COMP_CWORD=${words.length - 1}; _sendoff; echo "\${COMPREPLY[@]}"`
      return (await promisify(execFile)('bash', ['-c', code])).stdout.trim().split(' ')
    }
    deepEqual(await complete('sendoff', 'stat'), ['status'])
    deepEqual(await complete('sendoff', 'keys', 'un'), ['unpark'])
    deepEqual(await complete('sendoff', '--url', 'sqlite:a.db', 'replay', '--dry'), ['--dry-run'])
    deepEqual(await complete('sendoff', 'status', '--ur'), ['--url'])
  })

  it('has a script for zsh and for fish', async () => {
    match((await sendoff(['completion', 'zsh'])).stdout, /^#compdef sendoff/)
    match((await sendoff(['completion', 'fish'])).stdout, /-a replay -d 'deliver DEAD events again'/)
  })
})
