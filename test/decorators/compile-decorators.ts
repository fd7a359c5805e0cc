/**
 * Lets Node run TypeScript files with decorators: `node --import` this file. Node itself only strips types.
 * It leaves files without decorators to Node.
 */
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { hasDecorators } from './node-arguments.ts'

registerHooks({
  load(url, context, nextLoad) {
    if (!/^file:.*(?<!\.d)\.ts$/.test(url) || url.includes('/node_modules/')) return nextLoad(url, context)
    const fileName = fileURLToPath(url)
    const text = readFileSync(fileName, 'utf8')
    if (!hasDecorators(text)) return nextLoad(url, context)
    return { format: 'module', shortCircuit: true, source: compile(text, fileName) }
  },
})

function compile(text: string, fileName: string): string {
  const { outputText } = ts.transpileModule(text, {
    fileName,
    compilerOptions: {
      target: ts.ScriptTarget.ES2023,
      module: ts.ModuleKind.ESNext,
      verbatimModuleSyntax: true,
      experimentalDecorators: true,
      emitDecoratorMetadata: true,
      inlineSourceMap: true,
    },
  })
  return outputText
}
