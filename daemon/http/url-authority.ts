/** Host and port as a URL has them; an IPv6 address goes in brackets (RFC 3986, section 3.2.2). */
export function urlAuthority(host: string, port: number): string {
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}
