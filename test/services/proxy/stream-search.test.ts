import { equal } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { StreamSearch } from './stream-search.ts'

describe('the search in a stream', () => {
  it('finds a text in any case and cut anywhere, in the chunk where it ends', () => {
    for (const cut of [1, 2, 3, 4, 5]) {
      const search = new StreamSearch()
      add(search, 'begin;')
      add(search, `x${'Commit'.slice(0, cut)}`)
      equal(search.hasNow('COMMIT'), false)
      add(search, `${'Commit'.slice(cut)}y`)
      equal(search.hasNow('COMMIT'), true)
      add(search, 'z')
      equal(search.hasNow('COMMIT'), false)
    }
  })

  it('puts texts together over many small chunks', () => {
    const search = new StreamSearch()
    for (const letter of 'the word commi') add(search, letter)
    equal(search.hasNow('commit'), false)
    add(search, 't')
    equal(search.hasNow('commit'), true)
    equal(search.hasNow('t'), true)
    equal(search.hasNow(''), true)
  })

  function add(search: StreamSearch, text: string): void {
    search.add(Buffer.from(text))
  }
})
