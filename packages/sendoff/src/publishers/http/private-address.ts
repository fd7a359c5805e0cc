import { BlockList, isIP } from 'node:net'

const privateRanges = blockListOf({
  ipv4: [
    ['0.0.0.0', 8],
    ['10.0.0.0', 8],
    ['100.64.0.0', 10],
    ['127.0.0.0', 8],
    ['169.254.0.0', 16],
    ['172.16.0.0', 12],
    ['192.0.0.0', 24],
    ['192.168.0.0', 16],
    ['198.18.0.0', 15],
    ['224.0.0.0', 4],
    ['240.0.0.0', 4],
  ],
  ipv6: [
    ['::', 127], // unspecified and loopback
    ['64:ff9b:1::', 48],
    ['fc00::', 7],
    ['fe80::', 10],
    ['ff00::', 8],
  ],
})

// Addresses of IPv6 that carry one of IPv4.
const carriers = blockListOf({
  ipv6: [
    ['64:ff9b::', 96],
    ['::ffff:0:0', 96],
    ['2002::', 16],
  ],
})

/** Whether an address is this machine's, a private network's, or otherwise nobody's in public. */
export function isPrivateAddress(address: string): boolean {
  if (isIP(address) === 4) return privateRanges.check(address, 'ipv4')
  // Which of them a translator leads to is not ours to know.
  return privateRanges.check(address, 'ipv6') || carriers.check(address, 'ipv6')
}

type Ranges = Partial<Record<'ipv4' | 'ipv6', readonly (readonly [network: string, prefix: number])[]>>

function blockListOf({ ipv4 = [], ipv6 = [] }: Ranges): BlockList {
  const list = new BlockList()
  for (const [network, prefix] of ipv4) list.addSubnet(network, prefix, 'ipv4')
  for (const [network, prefix] of ipv6) list.addSubnet(network, prefix, 'ipv6')
  return list
}
