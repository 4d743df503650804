// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {IERC20Permit} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Permit.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {ReentrancyGuard} from "@openzeppelin/contracts/utils/ReentrancyGuard.sol";
import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {SignatureChecker} from "@openzeppelin/contracts/utils/cryptography/SignatureChecker.sol";
import {Permit2} from "./Permit2.sol";

interface IReceiveWithAuthorization {
    function receiveWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes calldata signature
    ) external;
}

interface IDepositCollector {
    function collect(address payer, address token, uint256 amount, bytes32 channelId, bytes calldata data) external;
}

/// @title The devnet's x402BatchSettlement: channels of prepaid tokens, claimed by cumulative vouchers.
/// @dev Written for the devnet from the scheme's published interface and specification; not audited. It has the real contract's rules,
/// but also checks the signature of an older claim; its errors and most events differ. It needs no constructor.
contract BatchSettlement is ReentrancyGuard {
    using SafeERC20 for IERC20;

    struct ChannelConfig {
        address payer;
        address payerAuthorizer;
        address receiver;
        address receiverAuthorizer;
        address token;
        uint40 withdrawDelay;
        bytes32 salt;
    }

    struct Voucher {
        ChannelConfig channel;
        uint128 maxClaimableAmount;
    }

    struct VoucherClaim {
        Voucher voucher;
        bytes signature;
        uint128 totalClaimed;
    }

    struct Channel {
        uint128 balance;
        uint128 totalClaimed;
    }

    struct Withdrawal {
        uint128 amount;
        uint40 initiatedAt;
    }

    struct Receiver {
        uint128 totalClaimed;
        uint128 totalSettled;
    }

    event ChannelCreated(bytes32 indexed channelId, ChannelConfig config);
    event ChannelClosed(bytes32 indexed channelId, ChannelConfig config);
    event Settled(address indexed receiver, address indexed token, address indexed sender, uint128 amount);
    event Refunded(bytes32 indexed channelId, address indexed sender, uint128 amount);

    error InvalidConfig();
    error InvalidAmount();
    error InvalidDeposit();
    error InvalidSignature();
    error InvalidNonce();
    error Unauthorized();
    error ClaimExceedsVoucher();
    error ClaimExceedsBalance();
    error NoWithdrawal();
    error WithdrawalPending();
    error WithdrawalTooEarly();

    bytes32 public constant CHANNEL_CONFIG_TYPEHASH = keccak256(
        "ChannelConfig(address payer,address payerAuthorizer,address receiver,address receiverAuthorizer,address token,uint40 withdrawDelay,bytes32 salt)"
    );
    bytes32 private constant DOMAIN_TYPEHASH =
        keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");
    bytes32 private constant ENTRY_TYPEHASH =
        keccak256("ClaimEntry(bytes32 channelId,uint128 maxClaimableAmount,uint128 totalClaimed)");
    bytes32 private constant BATCH_TYPEHASH = keccak256(
        "ClaimBatch(ClaimEntry[] claims)ClaimEntry(bytes32 channelId,uint128 maxClaimableAmount,uint128 totalClaimed)"
    );

    mapping(bytes32 channelId => Channel) public channels;
    mapping(bytes32 channelId => Withdrawal) public pendingWithdrawals;
    mapping(bytes32 channelId => uint256) public refundNonce;
    mapping(address receiver => mapping(address token => Receiver)) public receivers;

    function multicall(bytes[] calldata data) external returns (bytes[] memory results) {
        results = new bytes[](data.length);
        for (uint256 i = 0; i < data.length; i++) {
            (bool succeeded, bytes memory result) = address(this).delegatecall(data[i]);
            if (!succeeded) {
                assembly ("memory-safe") {
                    revert(add(result, 32), mload(result))
                }
            }
            results[i] = result;
        }
    }

    function deposit(ChannelConfig calldata config, uint128 amount, address collector, bytes calldata collectorData)
        external
        nonReentrant
    {
        require(
            config.payer != address(0) && config.receiver != address(0) && config.receiverAuthorizer != address(0)
                && config.withdrawDelay >= 15 minutes && config.withdrawDelay <= 30 days,
            InvalidConfig()
        );
        require(amount > 0, InvalidAmount());
        bytes32 id = getChannelId(config);
        uint256 before = IERC20(config.token).balanceOf(address(this));
        IDepositCollector(collector).collect(config.payer, config.token, amount, id, collectorData);
        require(IERC20(config.token).balanceOf(address(this)) == before + amount, InvalidDeposit());
        Channel storage channel = channels[id];
        if (channel.balance == 0 && channel.totalClaimed == 0) emit ChannelCreated(id, config);
        channel.balance += amount;
    }

    function claim(VoucherClaim[] calldata claims) external nonReentrant {
        for (uint256 i = 0; i < claims.length; i++) {
            ChannelConfig calldata config = claims[i].voucher.channel;
            require(msg.sender == config.receiver || msg.sender == config.receiverAuthorizer, Unauthorized());
            _claim(claims[i]);
        }
    }

    function claimWithSignature(VoucherClaim[] calldata claims, bytes calldata authorizerSignature)
        external
        nonReentrant
    {
        require(claims.length > 0, InvalidAmount());
        address authorizer = claims[0].voucher.channel.receiverAuthorizer;
        _requireSignature(authorizer, getClaimBatchDigest(claims), authorizerSignature);
        for (uint256 i = 0; i < claims.length; i++) {
            require(claims[i].voucher.channel.receiverAuthorizer == authorizer, Unauthorized());
            _claim(claims[i]);
        }
    }

    function _claim(VoucherClaim calldata row) private {
        ChannelConfig calldata config = row.voucher.channel;
        bytes32 id = getChannelId(config);
        bytes32 digest = getVoucherDigest(id, row.voucher.maxClaimableAmount);
        if (config.payerAuthorizer == address(0)) _requireSignature(config.payer, digest, row.signature);
        else require(ECDSA.recover(digest, row.signature) == config.payerAuthorizer, InvalidSignature());
        require(row.totalClaimed <= row.voucher.maxClaimableAmount, ClaimExceedsVoucher());
        Channel storage channel = channels[id];
        require(row.totalClaimed <= channel.balance, ClaimExceedsBalance());
        // An older claim changes nothing.
        if (row.totalClaimed <= channel.totalClaimed) return;
        receivers[config.receiver][config.token].totalClaimed += row.totalClaimed - channel.totalClaimed;
        channel.totalClaimed = row.totalClaimed;
    }

    function settle(address receiver, address token) external nonReentrant {
        Receiver storage account = receivers[receiver][token];
        uint128 amount = account.totalClaimed - account.totalSettled;
        if (amount == 0) return;
        account.totalSettled = account.totalClaimed;
        IERC20(token).safeTransfer(receiver, amount);
        emit Settled(receiver, token, msg.sender, amount);
    }

    function initiateWithdraw(ChannelConfig calldata config, uint128 amount) external {
        require(msg.sender == config.payer || msg.sender == config.payerAuthorizer, Unauthorized());
        bytes32 id = getChannelId(config);
        require(pendingWithdrawals[id].initiatedAt == 0, WithdrawalPending());
        require(amount > 0 && amount <= _getAvailable(id), InvalidAmount());
        pendingWithdrawals[id] = Withdrawal(amount, uint40(block.timestamp));
    }

    function finalizeWithdraw(ChannelConfig calldata config) external nonReentrant {
        require(msg.sender == config.payer || msg.sender == config.payerAuthorizer, Unauthorized());
        bytes32 id = getChannelId(config);
        Withdrawal memory pending = pendingWithdrawals[id];
        require(pending.initiatedAt != 0, NoWithdrawal());
        require(block.timestamp >= pending.initiatedAt + config.withdrawDelay, WithdrawalTooEarly());
        delete pendingWithdrawals[id];
        _payBack(id, config, pending.amount);
    }

    function refund(ChannelConfig calldata config, uint128 amount) external nonReentrant {
        require(msg.sender == config.receiver || msg.sender == config.receiverAuthorizer, Unauthorized());
        _refund(getChannelId(config), config, amount);
    }

    function refundWithSignature(ChannelConfig calldata config, uint128 amount, uint256 nonce, bytes calldata signature)
        external
        nonReentrant
    {
        bytes32 id = getChannelId(config);
        require(nonce == refundNonce[id], InvalidNonce());
        _requireSignature(config.receiverAuthorizer, getRefundDigest(id, nonce, amount), signature);
        _refund(id, config, amount);
    }

    function _refund(bytes32 id, ChannelConfig calldata config, uint128 amount) private {
        require(amount > 0, InvalidAmount());
        refundNonce[id]++;
        uint128 paid = _payBack(id, config, amount);
        if (paid == 0) return;
        Withdrawal storage pending = pendingWithdrawals[id];
        if (paid >= pending.amount) delete pendingWithdrawals[id];
        else pending.amount -= paid;
        emit Refunded(id, msg.sender, paid);
    }

    function _payBack(bytes32 id, ChannelConfig calldata config, uint128 amount) private returns (uint128 paid) {
        uint128 available = _getAvailable(id);
        paid = amount < available ? amount : available;
        if (paid == 0) return 0;
        Channel storage channel = channels[id];
        channel.balance -= paid;
        IERC20(config.token).safeTransfer(config.payer, paid);
        if (channel.balance == 0 && channel.totalClaimed == 0) emit ChannelClosed(id, config);
    }

    function _getAvailable(bytes32 id) private view returns (uint128) {
        return channels[id].balance - channels[id].totalClaimed;
    }

    function getChannelId(ChannelConfig calldata config) public view returns (bytes32) {
        return _digest(keccak256(abi.encode(CHANNEL_CONFIG_TYPEHASH, config)));
    }

    function getVoucherDigest(bytes32 id, uint128 maxClaimableAmount) public view returns (bytes32) {
        bytes32 typeHash = keccak256("Voucher(bytes32 channelId,uint128 maxClaimableAmount)");
        return _digest(keccak256(abi.encode(typeHash, id, maxClaimableAmount)));
    }

    function getRefundDigest(bytes32 id, uint256 nonce, uint128 amount) public view returns (bytes32) {
        bytes32 typeHash = keccak256("Refund(bytes32 channelId,uint256 nonce,uint128 amount)");
        return _digest(keccak256(abi.encode(typeHash, id, nonce, amount)));
    }

    function getClaimBatchDigest(VoucherClaim[] calldata claims) public view returns (bytes32) {
        bytes32[] memory hashes = new bytes32[](claims.length);
        for (uint256 i = 0; i < claims.length; i++) {
            Voucher calldata voucher = claims[i].voucher;
            bytes32 id = getChannelId(voucher.channel);
            hashes[i] =
                keccak256(abi.encode(ENTRY_TYPEHASH, id, voucher.maxClaimableAmount, claims[i].totalClaimed));
        }
        return _digest(keccak256(abi.encode(BATCH_TYPEHASH, keccak256(abi.encodePacked(hashes)))));
    }

    function _digest(bytes32 structHash) private view returns (bytes32) {
        bytes32 domain = keccak256(
            abi.encode(DOMAIN_TYPEHASH, keccak256("x402 Batch Settlement"), keccak256("1"), block.chainid, address(this))
        );
        return keccak256(abi.encodePacked(hex"1901", domain, structHash));
    }

    function _requireSignature(address signer, bytes32 digest, bytes calldata signature) private view {
        require(SignatureChecker.isValidSignatureNow(signer, digest, signature), InvalidSignature());
    }
}

/// @title The devnet's ERC3009DepositCollector: takes a deposit with the payer's authorization, whose nonce identifies the channel.
contract ERC3009Collector is IDepositCollector {
    function collect(address payer, address token, uint256 amount, bytes32 channelId, bytes calldata data) external {
        require(msg.sender == 0x4020074e9dF2ce1deE5A9C1b5c3f541D02a10003, BatchSettlement.Unauthorized());
        (uint256 validAfter, uint256 validBefore, uint256 salt, bytes memory signature) =
            abi.decode(data, (uint256, uint256, uint256, bytes));
        bytes32 nonce = keccak256(abi.encode(channelId, salt));
        IReceiveWithAuthorization(token).receiveWithAuthorization(
            payer, address(this), amount, validAfter, validBefore, nonce, signature
        );
        SafeERC20.safeTransfer(IERC20(token), msg.sender, amount);
    }
}

/// @title The devnet's Permit2DepositCollector: takes a deposit by Permit2, whose witness identifies the channel.
contract Permit2Collector is IDepositCollector {
    Permit2 private constant PERMIT2 = Permit2(0x000000000022D473030F116dDEE9F6B43aC78BA3);

    function collect(address payer, address token, uint256 amount, bytes32 channelId, bytes calldata data) external {
        require(msg.sender == 0x4020074e9dF2ce1deE5A9C1b5c3f541D02a10003, BatchSettlement.Unauthorized());
        (uint256 nonce, uint256 deadline, bytes memory signature, bytes memory approval) =
            abi.decode(data, (uint256, uint256, bytes, bytes));
        if (approval.length > 0) _approve(payer, token, approval);
        PERMIT2.permitWitnessTransferFrom(
            Permit2.PermitTransferFrom(Permit2.TokenPermissions(token, amount), nonce, deadline),
            Permit2.SignatureTransferDetails(msg.sender, amount),
            payer,
            keccak256(abi.encode(keccak256("DepositWitness(bytes32 channelId)"), channelId)),
            "DepositWitness witness)DepositWitness(bytes32 channelId)TokenPermissions(address token,uint256 amount)",
            signature
        );
    }

    /// @dev A failing permit is ignored, because the allowance may already exist.
    function _approve(address payer, address token, bytes memory approval) private {
        (uint256 value, uint256 deadline, uint8 v, bytes32 r, bytes32 s) =
            abi.decode(approval, (uint256, uint256, uint8, bytes32, bytes32));
        try IERC20Permit(token).permit(payer, address(PERMIT2), value, deadline, v, r, s) {} catch {}
    }
}
