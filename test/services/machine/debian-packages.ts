import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describeEnd, type ProcessEnd } from '../processes/process-group.ts'
import { temporaryFolder } from './temporary-folder.ts'

// Packages start their servers unless this file forbids it, and tests start servers of their own.
const script = `
  policy=/usr/sbin/policy-rc.d
  if [ ! -e "$policy" ]; then
    trap 'rm -f "$policy"' EXIT
    printf '#!/bin/sh\\nexit 101\\n' > "$policy" && chmod 755 "$policy"
  fi
  [ "$UPDATE" = no ] || apt-get update
  apt-get install --yes --no-install-recommends --no-upgrade -o DPkg::Lock::Timeout=300 "$@"`

let updated = false

/**
 * Installs packages of Debian or of its relatives, without starting the servers in them. Needs root. It
 * leaves packages that are there already unchanged.
 *
 * The installation continues to its end even if this process ends: half of one would be worse.
 */
export async function installDebianPackages(...names: readonly string[]): Promise<void> {
  const folder = temporaryFolder('packages')
  const log = join(folder.path, 'log')
  const output = openSync(log, 'w')

  try {
    // One at a time on the machine: another run must not remove the policy meanwhile.
    const child = spawn('flock', ['/var/lib/dpkg', 'sh', '-c', script, 'install', ...names], {
      detached: true,
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive', UPDATE: updated ? 'no' : 'yes' },
      stdio: ['ignore', output, output],
    })
    updated = true
    const [code, signal] = (await once(child, 'exit')) as [ProcessEnd['code'], ProcessEnd['signal']]
    if (code === 0) return

    const what = `Installing ${names.join(' and ')} ${describeEnd({ code, signal })}`
    throw new Error(`${what}. Its output:\n${readFileSync(log, 'utf8')}`)
  } finally {
    closeSync(output)
    folder.remove()
  }
}
