import { equal, match } from 'node:assert/strict'
import { chmodSync, cpSync, globSync, lstatSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { describePostgresService } from './describe-postgres-service.ts'
import { embeddedPostgresServer, packageFolder, postgres18, usableBinFolder } from './postgres18.ts'
import { runCommand } from '../../processes/run-command.ts'
import { temporaryFolder } from '../../machine/temporary-folder.ts'
import { unprivilegedUser } from '../../machine/unprivileged-user.ts'

await describePostgresService({
  service: postgres18,
  version: /^18\./,
  startServer: embeddedPostgresServer,
})

describe('the package of postgres18', () => {
  const skip = packageFolder() === undefined && 'it is not on this machine'
  it('can be used as npm unpacks it, and where only root can read it', { skip }, async () => {
    const [secret, folder] = [temporaryFolder('secret'), temporaryFolder('open')]
    cpSync(packageFolder()!, secret.path, { recursive: true, verbatimSymlinks: true })
    for (const path of globSync(join(secret.path, 'native', 'lib', '*.so*'))) {
      if (lstatSync(path).isSymbolicLink()) rmSync(path)
    }
    chmodSync(secret.path, 0o700)

    const user = unprivilegedUser('postgres')
    const binFolder = await usableBinFolder(secret.path, folder.path)
    for (const program of ['initdb', 'postgres']) {
      match(await runCommand(join(binFolder, program), ['--version'], user), /PostgreSQL\) 18/)
    }
    equal(binFolder.startsWith(secret.path), user.uid === undefined)
    secret.remove()
    folder.remove()
  })
})
