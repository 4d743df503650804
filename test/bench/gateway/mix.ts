/**
 * A wrk script that behaves like wallets and indexers: of ten requests, six read the head, two make one of a few
 * `eth_call`s, one reads logs of the latest block, and one reads something new. The calls go to the identity
 * precompile, which returns its input, and every block has logs: an empty response is never cached.
 */
export const mixScript = `
local headers = { ["Content-Type"] = "application/json" }
local function call(method, params)
  return wrk.format("POST", "/", headers, '{"jsonrpc":"2.0","id":1,"method":"' .. method .. '","params":' .. params .. '}')
end
local heads, calls, logs = {}, {}, nil
local sent = 0
init = function()
  heads = {
    call("eth_blockNumber", "[]"),
    call("eth_gasPrice", "[]"),
    call("eth_getBlockByNumber", '["latest",false]'),
  }
  for index = 0, 4 do
    calls[index] = call("eth_call", string.format('[{"to":"0x%040x","data":"0x%064x"},"latest"]', 4, index))
  end
  logs = call("eth_getLogs", '[{"fromBlock":"latest","toBlock":"latest"}]')
end
request = function()
  sent = sent + 1
  local place = sent % 10
  if place < 6 then return heads[place % 3 + 1] end
  if place < 8 then return calls[sent % 5] end
  if place == 8 then return logs end
  return call("eth_getBalance", string.format('["0x%040x","latest"]', sent))
end
`;
