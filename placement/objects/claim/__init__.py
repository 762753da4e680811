# SPDX-License-Identifier: Apache-2.0
"""Writing what consumers take from providers (specification: allocations).

A write is one transaction and a pipeline: lock the consumers (`consumers`), then the providers in
the order of their ids (`providers`); load what the providers have; decide, without a database,
whether the claims may be written (`decide`); write. `transaction` runs the steps. So racing claims
queue instead of failing, and a failure leaves nothing behind.
"""
