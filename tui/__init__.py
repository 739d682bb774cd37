"""The console: what an administrator sees over SSH. Speaks to the daemon through `appliance.admin.client` alone."""
