/**
 * Returns where a redirect leads, or a text that says why it is not followed.
 *
 * The publisher follows a redirect only to the same receiver: the same origin, or its https instead of its
 * http. Any other receiver would get the event with credentials and a signature that are not meant for it.
 */
export function redirectTarget(from: URL, location: string): URL | string {
  const target = URL.parse(location, from.href)
  if (target === null) return 'It redirects to an invalid URL.'
  const { origin, protocol } = target
  if (protocol !== 'http:' && protocol !== 'https:') return `It redirects to ${protocol}, which is not HTTP.`
  if (origin !== from.origin && !isUpgrade(from, target)) {
    return `It redirects to another origin, ${origin}. Post to that one if it is to be trusted.`
  }
  target.username = from.username
  target.password = from.password
  return target
}

function isUpgrade(from: URL, to: URL): boolean {
  const hasUsualPorts = from.port === '' && to.port === ''
  return (
    hasUsualPorts && from.protocol === 'http:' && to.protocol === 'https:' && from.hostname === to.hostname
  )
}
