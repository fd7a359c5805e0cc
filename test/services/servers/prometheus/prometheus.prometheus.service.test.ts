import { deepEqual } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { askPrometheus } from './prometheus-server.ts'

describe('the service prometheus', () => {
  it('replies to queries', async () => {
    deepEqual(await askPrometheus(process.env['PROMETHEUS_URL']!, 'vector(7)'), [{ labels: {}, value: 7 }])
  })
})
