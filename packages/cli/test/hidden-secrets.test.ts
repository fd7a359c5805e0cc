import { equal } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { HiddenSecrets } from '../src/hidden-secrets.ts'

describe('hidden secrets', () => {
  const secrets = new HiddenSecrets()
  secrets.addUrl('postgres://ann:ge%2Fheim@db/shop?sslpassword=other&application_name=shop')

  it('are hidden as they are written, and as they are meant', () => {
    equal(
      secrets.hide('no "ge%2Fheim", no ge/heim, no other, but shop'),
      'no "***", no ***, no ***, but shop',
    )
  })

  it('are hidden in addresses that were never added', () => {
    equal(secrets.hide('connect amqp://bob:pa:ss@rabbit/x failed'), 'connect amqp://bob:***@rabbit/x failed')
  })

  it('of an address that cannot be parsed are hidden, too', () => {
    const broken = new HiddenSecrets()
    broken.addUrl('postgres://ann:geheim@[db')
    equal(broken.hide('geheim'), '***')
  })
})
