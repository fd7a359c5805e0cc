import { equal, match } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { redirectTarget } from '../../../src/publishers/http/redirect.ts'

describe('redirectTarget', () => {
  const from = (url: string, location: string): string => String(redirectTarget(new URL(url), location))

  it('follows within the origin, with the credentials of the URL', () => {
    equal(from('https://a:b@shop.example/hooks?x=1', '/moved'), 'https://a:b@shop.example/moved')
    equal(from('https://a:b@shop.example/hooks', 'https://shop.example/x'), 'https://a:b@shop.example/x')
    equal(from('https://shop.example/', 'https://c:d@shop.example/x'), 'https://shop.example/x')
  })

  it('follows from http to https of the same host', () => {
    equal(from('http://shop.example/hooks', 'https://shop.example/hooks'), 'https://shop.example/hooks')
  })

  for (const [url, location] of [
    ['https://shop.example/', 'https://other.example/'],
    ['https://shop.example/', 'https://www.shop.example/'],
    ['https://shop.example/', 'https://shop.example:8443/'],
    ['http://shop.example/', 'https://shop.example:8443/'],
    ['https://shop.example/', 'http://shop.example/'],
    ['https://shop.example/', '//other.example/'],
  ] as const) {
    it(`refuses to go from ${url} to ${location}`, () => {
      match(from(url, location), /^It redirects to another origin/)
    })
  }

  it('refuses targets that cannot be posted to', () => {
    match(from('http://shop.example/', 'ftp://shop.example/'), /not HTTP/)
    match(from('http://shop.example/', 'javascript:alert()'), /not HTTP/)
    match(from('http://shop.example/', 'http://['), /invalid URL/)
  })
})
