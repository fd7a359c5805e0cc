import { describe, it } from 'node:test'
import { judgeWebRecipe } from '../../../test/recipes/judge-web-recipe.ts'

describe('the recipe for Fastify', () => {
  it('undoes a refused order with its event, ships the others, and ends by SIGTERM with nothing lost', (test) =>
    judgeWebRecipe(test, [process.execPath, 'fastify-server.ts'], import.meta.dirname))
})
