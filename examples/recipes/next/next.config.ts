import type { NextConfig } from 'next'

const config: NextConfig = {
  // Node loads these itself. A bundle would hold a second copy of them.
  serverExternalPackages: ['sendoff', 'pg'],
}

export default config
