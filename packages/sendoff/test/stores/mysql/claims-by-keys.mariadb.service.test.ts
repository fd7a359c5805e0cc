import { runClaimsByKeys } from './run-claims-by-keys.ts'

runClaimsByKeys('MariaDB', 'MARIADB_URL')
