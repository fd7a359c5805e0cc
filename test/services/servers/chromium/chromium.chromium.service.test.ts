import { match } from 'node:assert/strict'
import { describe, it } from 'node:test'

describe('the service chromium', () => {
  it('says which browser it is', async () => {
    const response = await fetch(`${process.env['CHROMIUM_URL']}/json/version`)
    match(((await response.json()) as { Browser: string }).Browser, /Chrome\/\d+/)
  })
})
