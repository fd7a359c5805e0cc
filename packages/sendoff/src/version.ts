/** The version of this package, as in its `package.json`. */
export const sendoffVersion = '0.1.0'
