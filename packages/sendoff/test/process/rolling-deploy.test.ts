import { storeKinds } from '../fixtures/stores.ts'
import { testRollingDeploy } from './rolling-deploy-suite.ts'

storeKinds.forEach(testRollingDeploy)
