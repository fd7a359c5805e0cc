#!/usr/bin/env node
// Written so that every Node can read it, also one that is too old for the rest.
const needed = [22, 13] as const
const found = process.versions.node.split('.').map(Number)
if (found[0]! < needed[0] || (found[0] === needed[0] && found[1]! < needed[1])) {
  process.stderr.write(
    'sendoff needs Node ' + needed.join('.') + ' or newer. This is Node ' + process.versions.node + '.\n',
  )
  process.exitCode = 2
} else {
  // Node keeps the compiled code between calls: every later call starts faster.
  const modules = require('node:module') as { enableCompileCache(): void }
  modules.enableCompileCache()
  const program = require('./main.js') as { main(args: string[]): Promise<number> }
  void program.main(process.argv.slice(2)).then(function (exitCode) {
    process.exitCode = exitCode
    // A client that a configuration has opened may still be open. The output goes out first.
    process.stdout.write('', function () {
      process.exit()
    })
  })
}
