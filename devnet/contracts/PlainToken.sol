// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC20Permit} from "@openzeppelin/contracts/token/ERC20/extensions/ERC20Permit.sol";

/// @title A token of the devnet without EIP-3009, payable by Permit2: 18 decimals, EIP-2612, worthless.
contract PlainToken is ERC20Permit {
    /// @param holders Accounts that hold tokens from the start.
    /// @param amount Amount that each of them holds, in the smallest unit.
    constructor(address[] memory holders, uint256 amount) ERC20("Devnet Plain Token", "PLAIN") ERC20Permit("Devnet Plain Token") {
        for (uint256 i = 0; i < holders.length; ++i) {
            _mint(holders[i], amount);
        }
    }

    /// @notice Version of the EIP-712 domain.
    function version() external view returns (string memory) {
        return _EIP712Version();
    }
}
